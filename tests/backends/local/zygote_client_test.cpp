// SPDX-License-Identifier: Apache-2.0
// The promise: before a zygote counts as lost, all messages of it and its jobs are read.
#include "backends/local/zygote_client.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <fstream>
#include <future>
#include <thread>

#include "backends/local/local_job.hpp"
#include "tests/backends/contract.hpp"

namespace fiber::backends::local {

namespace {

using namespace std::chrono_literals;

std::size_t children(int pid) {
  auto id = std::to_string(pid);
  std::ifstream list("/proc/" + id + "/task/" + id + "/children");
  return static_cast<std::size_t>(
    std::distance(std::istream_iterator<int>(list), std::istream_iterator<int>()));
}

/// A zygote with a job that announces itself when the test permits (see other_program).
class HeldZygote : public testing::Test {
protected:
  HeldZygote() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    inherited_.reset(ends[0]);
    gate_.reset(ends[1]);
    ::fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    std::tie(link_, job_->link) = make_socket_pair(SOCK_STREAM);
    job_->spec = BackendTest::spec("job", "print born\nwait");
    job_->serial = 1;
  }
  ~HeldZygote() override {
    loop_.stop();
    output_.stop();
  }

  /// Runs `f` on the loop's thread and waits for it.
  template <class F>
  auto on_loop(F f) {
    std::packaged_task<decltype(f())()> task(std::move(f));
    auto result = task.get_future();
    loop_.post([&] { task(); });
    return result.get();
  }

  /// Blocks the loop's thread, once it knows that the zygote is dead, until released.
  void stop_loop_when_dead() {
    if (client_->ready())
      return loop_.post([this] { stop_loop_when_dead(); });
    stopped_.set_value(std::chrono::steady_clock::now());
    go_on_.get_future().wait();
  }

  void start() {
    ZygoteClient::Handler handler;
    handler.ready = [this] {
      std::vector<int> fds;
      job_->prepare(output_);
      auto message = job_->request(fds);
      EXPECT_EQ(client_->request(message, fds), 0);
      job_->started(); // Closes our copies of its descriptors.
    };
    handler.started = [this](std::uint64_t, int pid, UniqueFd) {
      said_.push_back("started");
      job_pid_ = pid;
    };
    handler.lost = [this](bool, const Exit&, const std::string&) {
      said_.push_back("lost");
      lost_.set_value();
    };
    auto program = Program::resolve(
      OTHER_PROGRAM, {"other_program", "hold-socket", std::to_string(inherited_.get())});
    on_loop([&] { client_ = ZygoteClient::start(loop_, output_, 2, program, handler); });
  }

  UniqueFd inherited_, gate_, link_;
  std::shared_ptr<LocalJob> job_ = std::make_shared<LocalJob>();
  std::promise<std::chrono::steady_clock::time_point> stopped_;
  std::promise<void> go_on_, lost_;
  std::vector<std::string> said_; // Used on the loop's thread.
  int job_pid_ = 0;
  Output output_{false};
  Loop loop_;
  std::shared_ptr<ZygoteClient> client_;
};

TEST_F(HeldZygote, a_dead_zygote_is_lost_only_after_its_jobs_messages_are_read) {
  start();
  auto zygote = client_->pid();
  // The holder and the job.
  ASSERT_TRUE(eventually([&] { return children(zygote) == 2; }));
  on_loop([&] { stop_loop_when_dead(); });
  ::kill(zygote, SIGKILL);
  auto since = stopped_.get_future().get();
  gate_.reset();
  EXPECT_TRUE(eventually([&] { return output_.last(1).starts_with("born\n"); }));
  std::this_thread::sleep_until(since + 600ms); // Past the time limit for its messages.
  go_on_.set_value();
  lost_.get_future().wait();
  loop_.stop();
  EXPECT_EQ(said_, (std::vector<std::string>{"started", "lost"}));
  EXPECT_FALSE(process_gone(job_pid_));
  link_.reset(); // Ends the job.
  EXPECT_TRUE(eventually([&] { return process_gone(job_pid_); }));
}

TEST_F(HeldZygote, a_zygote_is_lost_with_its_unannounced_jobs) {
  start();
  auto zygote = client_->pid();
  ASSERT_TRUE(eventually([&] { return children(zygote) == 2; }));
  ::kill(zygote, SIGKILL);
  lost_.get_future().wait();
  gate_.reset();
  char byte = 0;
  EXPECT_EQ(::read(link_.get(), &byte, 1), 0); // The job does not run.
  loop_.stop();
  EXPECT_EQ(said_, std::vector<std::string>{"lost"});
  EXPECT_EQ(output_.last(1), "");
}

} // namespace

} // namespace fiber::backends::local
