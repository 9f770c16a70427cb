// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/agent.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include "backends/engine/route.hpp"
#include "backends/job_address.hpp"
#include "backends/local/core_table.hpp"
#include "backends/local/gpu_table.hpp"
#include "backends/local/local_backend.hpp"
#include "backends/ssh/agent_message.hpp"
#include "backends/ssh/remote_shell.hpp"
#include "base/code_place.hpp"
#include "base/log.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::ssh {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Until the driver has told its lease.
constexpr milliseconds first_lease(60000);
constexpr milliseconds reach_limit(3000);

/// Ends the process at once. The zygote notices, and kills the jobs.
[[noreturn]] void leave(int code) {
  ::_exit(code);
}

/// stdout, as far as it carries messages. Threads take turns.
class Sender {
public:
  explicit Sender(UniqueFd fd) : fd_(std::move(fd)) {}

  void send(const AgentMessage& message) {
    std::lock_guard lock(mutex_);
    write(packed(message));
  }
  void greet(const std::string& number) {
    write("\n" + std::string(agent_greeting) + number + "\n");
  }

private:
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t put = ::write(fd_.get(), bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR)
        continue;
      if (put <= 0)
        leave(EXIT_SUCCESS); // The connection has ended.
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
  }

  UniqueFd fd_;
  std::mutex mutex_;
};

/// Bounds the output that is on its way to the driver.
class OutputWindow {
public:
  /// Waits until some of the output before has been read.
  void take(std::size_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return on_the_way_ < max_output_on_the_way; });
    on_the_way_ += bytes;
  }
  void give_back(std::size_t bytes) {
    std::lock_guard lock(mutex_);
    on_the_way_ -= std::min(bytes, on_the_way_);
    changed_.notify_all();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t on_the_way_ = 0;
};

/// Returns the address of this host to which ssh has connected; empty if sshd does not
/// tell.
std::string address_of_host() {
  const char* connection = std::getenv("SSH_CONNECTION"); // CLIENT PORT SERVER PORT
  fiber::detail::Classic<std::istringstream> words(connection ? connection : "");
  std::string client, port, server;
  words >> client >> port >> server;
  return server;
}

class Agent {
public:
  explicit Agent(UniqueFd input, UniqueFd output)
    : input_(std::move(input)), sender_(std::move(output)) {
    if (const char* before = std::getenv(library_path_before))
      libraries_of_jobs_ = before;
    ::unsetenv(library_path_before);
  }

  [[noreturn]] void run(const std::string& number) {
    sender_.greet(number);
    sender_.send({{"is", "agent"},
                  {"build", build_id()},
                  {"cpus", local::CoreTable::here().size()},
                  {"gpus", local::Gpus::here().names.size()}});
    for (;;)
      take_messages();
  }

private:
  void take_messages() {
    pollfd ready{input_.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<milliseconds>(heard_ + lease_ - Clock::now());
    const auto limit = std::clamp<milliseconds::rep>(left.count(), 0, 1 << 30);
    const auto came = ::poll(&ready, 1, static_cast<int>(limit));
    if (came == 0 && Clock::now() - heard_ >= lease_)
      leave(EXIT_FAILURE);
    if (came <= 0)
      return;
    char piece[64 * 1024];
    const auto got = ::read(input_.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR)
      return;
    if (got <= 0)
      leave(EXIT_SUCCESS);
    heard_ = Clock::now();
    reader_.add({piece, static_cast<std::size_t>(got)});
    while (auto message = reader_.next())
      take(*message);
  }

  void take(const AgentMessage& message) {
    const auto& kind = message.at("is").get_ref<const std::string&>();
    if (kind == "begin")
      begin(message);
    else if (kind == "reach")
      reach(message.at("address").get<std::string>());
    else if (kind == "create")
      create(spec_of(message));
    else if (kind == "terminate")
      backend_->terminate(message.at("job").get<std::string>(),
                          milliseconds(message.at("grace").get<milliseconds::rep>()));
    else if (kind == "read")
      window_.give_back(message.at("bytes").get<std::size_t>());
    else if (kind == "ping")
      sender_.send({{"is", "pong"}});
  }

  void begin(const AgentMessage& message) {
    lease_ = milliseconds(message.at("lease").get<milliseconds::rep>());
    for (auto& [name, value] : message.at("environment").items())
      if (name == "LD_LIBRARY_PATH")
        libraries_of_jobs_ = value.get<std::string>();
      else
        ::setenv(name.c_str(), value.get<std::string>().c_str(), 1);
    const auto directory = message.at("directory").get<std::string>();
    if (const char* home = std::getenv("HOME");
        ::chdir(directory.c_str()) != 0 && (!home || ::chdir(home) != 0))
      log().debug("jobs start in the folder in which ssh starts programs");
    LocalOptions options;
    options.argv = message.at("words").get<std::vector<std::string>>();
    options.hide_gpus = message.at("hide_gpus").get<bool>();
    options.session = message.at("session").get<std::string>();
    options.on_output = [this](const std::string& job, std::string_view text) {
      window_.take(text.size());
      sender_.send({{"is", "output"}, {"job", job}, {"text", std::string(text)}});
    };
    backend_ = make_local(options);
    backend_->watch([this](const JobEvent& event) {
      sender_.send(message_of(event));
      if (event.is_last())
        backend_->forget(event.job);
    });
  }

  /// Says whether this host reaches the driver, on a thread of its own, since an attempt
  /// may take seconds.
  void reach(const std::string& address) {
    std::thread([this, address] {
      sender_.send({{"is", "reached"},
                    {"address", address},
                    {"problem", problem_of_reaching(address, reach_limit)}});
    }).detach();
  }

  void create(JobSpec spec) {
    const auto job = spec.name;
    // Programs that a job starts must not find our copies of libraries.
    spec.environment.emplace("LD_LIBRARY_PATH", libraries_of_jobs_);
    if (spec.driver.starts_with("127.")) // A tunnel.
      spec.environment.emplace(job_address, address_of_host());
    try {
      backend_->create(std::move(spec));
    } catch (const EngineError& error) {
      sender_.send(message_of(JobEvent{.kind = JobEvent::Kind::failed,
                                       .job = job,
                                       .detail = error.what(),
                                       .status = error.status()}));
    }
  }

  const UniqueFd input_;
  Sender sender_;
  OutputWindow window_;
  MessageReader reader_;
  std::string libraries_of_jobs_; // Their LD_LIBRARY_PATH.
  std::unique_ptr<Backend> backend_;
  Clock::time_point heard_ = Clock::now();
  milliseconds lease_ = first_lease;
};

/// Returns a copy of a descriptor, above 2.
UniqueFd moved_away(int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy)
    throw EngineError("start agent", errno, "stdin and stdout must be ssh's");
  return copy;
}

} // namespace

void run_agent(const std::string& number) {
  std::signal(SIGPIPE, SIG_IGN); // NOLINT(cert-err33-c)
  auto input = moved_away(STDIN_FILENO), output = moved_away(STDOUT_FILENO);
  // What the program and its libraries print goes to ssh's stderr, and to the log.
  UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  try {
    // Never destroyed: threads use it to the end.
    auto* agent = new Agent(std::move(input), std::move(output)); // NOLINT
    agent->run(number);
  } catch (const std::exception& error) {
    log().error("the agent of this host ends: {}", error.what());
    leave(EXIT_FAILURE);
  }
}

} // namespace fiber::backends::ssh
