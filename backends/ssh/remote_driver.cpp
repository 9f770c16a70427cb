// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/remote_driver.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "backends/engine/child_exit.hpp"
#include "backends/engine/child_process.hpp"
#include "backends/engine/errors.hpp"
#include "backends/engine/loop.hpp"
#include "backends/engine/program.hpp"
#include "backends/engine/spawn.hpp"
#include "backends/ssh/channel.hpp"
#include "backends/ssh/program_file.hpp"
#include "backends/ssh/program_start.hpp"
#include "backends/ssh/remote_shell.hpp"
#include "backends/ssh/ssh_command.hpp"
#include "base/random_id.hpp"
#include "base/unique_fd.hpp"

namespace fiber::backends::ssh {

namespace {

constexpr int failed = 255; // As ssh ends if it can't connect.

RemoteDriver driver_of(const std::string& request) {
  const auto json = nlohmann::json::parse(request);
  return {.host = json.at("host"),
          .command = json.at("command"),
          .directory = json.at("directory"),
          .environment = json.at("environment")};
}

bool has_terminal() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 &&
         ::isatty(STDERR_FILENO) == 1;
}

/// The connection that stands by: it has found or copied the program, and sends signals.
/// Used on the loop's thread only.
class StandBy {
public:
  /// `ready` is set when run_command() can run.
  StandBy(Loop& loop, const SshCommand& command, const RemoteDriver& driver,
          const ProgramFile& program, std::string number, std::promise<void> ready)
    : command_(command), driver_(driver), program_(program), number_(std::move(number)),
      ready_(std::move(ready)) {
    channel_ = Channel::start(
      loop, command.open(driver.host, stand_by_command(program.remote(), number_)),
      {.output = [this](std::string_view bytes) { on_output(bytes); },
       .ended = [this](const std::string& errors,
                       std::optional<int> code) { on_end(errors, code); }});
    start_.emplace(loop, command_, driver.host, program, number_,
                   ProgramStart::Handler{
                     .say = [this](std::string_view text) { channel_->send(text); },
                     .ready = [this](const std::string& path) { send_script(path); },
                     .failed = [this](const std::string& problem) { fail(problem); }});
  }
  ~StandBy() {
    channel_->close();
    std::error_code ignored;
    std::filesystem::remove(command_.control, ignored);
  }
  StandBy(const StandBy&) = delete;
  StandBy& operator=(const StandBy&) = delete;

  void send(const std::string& signal) { channel_->send(signal + "\n"); }
  /// Returns why there can be no driver; empty as long as there can be one.
  const std::string& problem() const { return problem_; }

private:
  void on_output(std::string_view bytes) {
    try {
      while (start_) {
        const auto line = lines_.next(bytes);
        if (!line)
          return;
        start_->take(*line);
        if (lines_for(*line, number_) == std::vector<std::string>{"waits"}) {
          start_.reset();
          ready_.set_value();
        }
      }
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }
  void send_script(const std::string& path) {
    channel_->send(
      script_of(program_.remote(), {.path = path,
                                    .arguments = program_arguments(),
                                    .directory = std::filesystem::current_path().string(),
                                    .environment = driver_.environment}));
  }
  void on_end(const std::string& errors, std::optional<int> code) {
    fail(start_
           ? start_->problem_of_end(errors, code)
           : "the connection has ended: " + command_.problem(driver_.host, errors, code));
  }
  void fail(const std::string& problem) {
    if (std::exchange(problem_, problem).empty() && start_)
      ready_.set_exception(
        std::make_exception_ptr(EngineError("run on " + driver_.host, 0, problem)));
  }

  const SshCommand& command_;
  const RemoteDriver& driver_;
  const ProgramFile& program_;
  const std::string number_;
  std::promise<void> ready_;
  std::shared_ptr<Channel> channel_;
  std::optional<ProgramStart> start_; // Until run_command() can run.
  PrintedLines lines_;
  std::string problem_;
};

/// Signals that end or stop a program, which this process passes on.
class Signals {
public:
  Signals() {
    sigemptyset(&set_);
    for (int signal : {SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2})
      sigaddset(&set_, signal);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    fd_ = UniqueFd(::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd_)
      throw engine_error("wait for signals", errno);
  }
  int fd() const { return fd_.get(); }
  /// Returns the name that `kill -s` takes; empty if none has come.
  std::string take() {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof info) != sizeof info)
      return {};
    return ::sigabbrev_np(static_cast<int>(info.ssi_signo));
  }

private:
  sigset_t set_{};
  UniqueFd fd_;
};

/// Runs ssh until it ends. Returns its exit code.
int run_ssh(const std::vector<std::string>& words, bool terminal,
            const std::function<void(const std::string&)>& pass_on) {
  Signals signals;
  pid_t ssh = 0;
  // Without a terminal there, Ctrl-C here must not end ssh: the driver gets the signal.
  const int input = ::isatty(STDIN_FILENO) == 1 ? -1 : STDIN_FILENO;
  if (int error = spawn_child({.executable = words.front(),
                               .argv = words,
                               .environment = environment_with({}),
                               .input = terminal ? -1 : input,
                               .interactive = terminal},
                              ssh);
      error != 0)
    throw engine_error("start " + words.front(), error);
  const auto ended = local::open_pidfd(ssh);
  if (!ended)
    throw engine_error("wait for " + words.front(), errno);
  for (;;) {
    pollfd waits[] = {{ended.get(), POLLIN, 0}, {signals.fd(), POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR)
      throw engine_error("wait for " + words.front(), errno);
    if (auto signal = signals.take(); !signal.empty())
      pass_on(signal);
    if (waits[0].revents == 0)
      continue;
    siginfo_t end{};
    if (::waitid(P_PID, static_cast<id_t>(ssh), &end, WEXITED) != 0)
      throw engine_error("wait for " + words.front(), errno);
    return end.si_code == CLD_EXITED ? end.si_status : 128 + end.si_status;
  }
}

int run(const RemoteDriver& driver) {
  Loop loop;
  const ProgramFile program(driver.directory);
  const auto number = random_id();
  const SshCommand command{.words = driver.command,
                           .control = control_folder() + "/" + number};
  const auto on_loop = [&](const std::function<void()>& f) {
    auto task = std::make_shared<std::packaged_task<void()>>(f);
    auto done = task->get_future();
    loop.post([task] { (*task)(); });
    done.get();
  };
  std::promise<void> promise;
  auto ready = promise.get_future();
  std::unique_ptr<StandBy> stand_by;
  on_loop([&] {
    stand_by = std::make_unique<StandBy>(loop, command, driver, program, number,
                                         std::move(promise));
  });
  struct Closer {
    std::function<void()> close;
    ~Closer() { close(); }
  } closer{[&] { on_loop([&] { stand_by.reset(); }); }};
  ready.get();
  const bool terminal = has_terminal();
  const auto code =
    run_ssh(command.run(driver.host, run_command(program.remote(), number), terminal),
            terminal, [&](const std::string& signal) {
              loop.post([&, signal] { stand_by->send(signal); });
            });
  std::string problem;
  on_loop([&] { problem = stand_by->problem(); });
  if (code == failed && !problem.empty())
    throw EngineError("run on " + driver.host, 0, problem);
  return code;
}

} // namespace

const char remote_driver_error[] = "fiber: no driver could run elsewhere: ";

std::string node_variable(const RemoteDriver& driver) {
  return std::string(remote_driver_role) + ":" +
         nlohmann::json{{"host", driver.host},
                        {"command", driver.command},
                        {"directory", driver.directory},
                        {"environment", driver.environment}}
           .dump();
}

void run_remote_driver(const std::string& request) {
  int code = failed;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL); // The end of the command `fiber` is ours, too.
  try {
    code = run(driver_of(request));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s%s\n", remote_driver_error, error.what());
  }
  ::_exit(code);
}

} // namespace fiber::backends::ssh
