// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "backends/engine/loop.hpp"
#include "backends/engine/spawn.hpp"
#include "backends/slurm/command.hpp"
#include "backends/slurm/session_folder.hpp"
#include "backends/slurm/submission.hpp"
#include "base/random_id.hpp"
#include "cli/engines/image.hpp"
#include "cli/engines/interrupts.hpp"
#include "cli/engines/tail.hpp"
#include "cli/slurm/driver_job.hpp"
#include "cli/slurm/left.hpp"
#include "cli/slurm/slurm.hpp"
#include "fiber/error.hpp"

namespace fiber::cli::slurm {
namespace {

using backends::slurm::JobRow;
using backends::slurm::SessionFolder;
using nlohmann::json;
using std::chrono::milliseconds;

constexpr int show_every_ms = 100;
constexpr milliseconds first_look{500}, longest_look{5000};
/// Another session removes the folder this long after `fiber run` has been killed.
constexpr std::chrono::hours folder_life{7 * 24};

void check(const RunRequest& request) {
  refuse_container_options(request);
  if (!request.time.empty() && !backends::slurm::is_time_limit(request.time))
    throw Error("--time " + request.time +
                ": wanted is MINUTES, MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS or "
                "UNLIMITED");
  if (request.name.find_first_of("%/\\\n") != request.name.npos)
    throw Error("--name " + request.name + ": a name has no %, / and \\");
  if (backends::find_in_path("sbatch").empty())
    throw Error("sbatch is not on PATH: run this on a login node of a Slurm cluster, or "
                "load the site's module for Slurm");
}

/// The output of a job, and the signals for it, until the job's end.
class Attached {
public:
  Attached(std::string id, const SessionFolder& folder, const OutputFiles& files)
    : id_(std::move(id)), folder_(folder), out_(files.out, STDOUT_FILENO),
      err_(files.err, STDERR_FILENO) {
    loop_.post([this] { look(); });
  }
  ~Attached() { loop_.stop(); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

  /// Returns what Slurm says about the job when it is over; nothing if it does not know
  /// it any more.
  std::optional<JobRow> wait(Interrupts& interrupts) {
    for (;;) {
      pollfd signals{interrupts.fd(), POLLIN, 0};
      ::poll(&signals, 1, show_every_ms);
      if (auto signal = interrupts.take(); signal.number != 0)
        on_signal(signal.number);
      show();
      folder_.touch();
      auto look = latest();
      if (!look.answered)
        warn(look.problem);
      else if (!look.row || look.row->over()) {
        show(); // What came before the end.
        return look.row;
      } else if (look.row->waits() && !look.row->reason.empty())
        say_that_it_waits(look.row->reason);
    }
  }

  /// The first signal that has come; 0 if none.
  int signal() const { return signal_; }

private:
  // On the loop's thread.
  void look() {
    commands_.run(look_words(id_), [this](const auto& told) {
      {
        std::lock_guard lock(mutex_);
        look_ = read_look(id_, told);
      }
      pause_ = std::min(pause_ * 3 / 2, longest_look);
      loop_.after(pause_, [this] { look(); });
    });
  }

  JobLook latest() {
    std::lock_guard lock(mutex_);
    return look_;
  }

  void show() {
    out_.show();
    err_.show();
  }

  void on_signal(int number) {
    bool again = signal_ != 0;
    if (!again)
      signal_ = number;
    // The node makes the file before Slurm says that the job runs.
    bool waits = (!latest().row || latest().row->waits()) &&
                 !backends::slurm::file_exists(folder_.path() + "/out");
    std::fprintf(stderr, "fiber: %s\n",
                 again   ? "stopping everything"
                 : waits ? "the job has not started; it is cancelled"
                         : "asked the program to stop; the next signal stops everything");
    std::vector<std::string> words{"scancel"};
    if (!waits && !again)
      words = {"scancel", "--batch", number == SIGINT ? "--signal=INT" : "--signal=TERM"};
    else if (!waits)
      words = {"scancel", "--batch", "--signal=KILL"};
    words.push_back(id_);
    loop_.post([this, words] {
      pause_ = first_look;
      commands_.run(words, [](const auto& told) {
        if (!told.ok())
          std::fprintf(stderr, "fiber: scancel: %s\n", told.problem().c_str());
      });
    });
  }

  void warn(const std::string& problem) {
    if (!std::exchange(warned_, true))
      std::fprintf(stderr, "fiber: squeue: %s; the job goes on\n", problem.c_str());
  }

  void say_that_it_waits(const std::string& reason) {
    if (reason != "Priority" && reason != std::exchange(reason_, reason))
      std::fprintf(stderr, "fiber: job %s waits: %s\n", id_.c_str(), reason.c_str());
  }

  const std::string id_;
  const SessionFolder& folder_;
  Tail out_, err_;
  int signal_ = 0;
  bool warned_ = false;
  std::string reason_;
  std::mutex mutex_; // Guards look_.
  JobLook look_{.answered = true, .problem = {}, .row = JobRow{.state = "PENDING"}};
  milliseconds pause_ = first_look;
  backends::Loop loop_;
  backends::slurm::Commands commands_{loop_, backends::slurm::clean_environment()};
};

/// Returns the exit code for a job that is over, and says what the program did not.
int report_end(const RunRequest& request, const std::string& id,
               const std::optional<JobRow>& row, int signal) {
  int code = 1;
  if (!row)
    std::fprintf(stderr, "fiber: Slurm no longer has job %s, so its exit code is lost\n",
                 id.c_str());
  else {
    auto exit = end_of(*row, request.memory_mb, signal != 0).exit;
    bool ended = row->state == "COMPLETED" || row->state == "FAILED";
    if (exit.code)
      code = *exit.code < 0 ? 128 - *exit.code : *exit.code;
    if (code == 0 && row->state == "CANCELLED")
      code = 128 + (signal != 0 ? signal : SIGTERM);
    if (!ended && signal == 0)
      std::fprintf(stderr, "fiber: %s\n",
                   row->state == "TIMEOUT" ? "its time limit has passed (--time)"
                                           : exit.detail.c_str());
  }
  if (request.json)
    std::fprintf(
      stderr, "%s\n",
      json{{"backend", "slurm"}, {"id", id}, {"exit_code", code}}.dump().c_str());
  return code;
}

int detach(const RunRequest& request, const std::string& program,
           const std::string& name) {
  auto log = std::filesystem::absolute(name + ".log").string();
  if (std::filesystem::exists(log))
    throw Error(log + ", for the output, is there already: remove it, or give another "
                      "--name");
  auto id = submit_driver(request, driver_words(request, program, name, {log, log}));
  if (request.json)
    std::printf("%s\n",
                json{{"backend", "slurm"}, {"name", name}, {"id", id}, {"log", log}}
                  .dump()
                  .c_str());
  else
    std::printf("%s is Slurm's job %s; its output goes to %s, and fiber stop %s ends it "
                "and its workers\n",
                name.c_str(), id.c_str(), log.c_str(), name.c_str());
  return 0;
}

} // namespace

int run(const RunRequest& request) {
  check(request);
  auto program = find_program(request.command.front());
  auto name = request.name.empty() ? std::filesystem::path(program).filename().string()
                                   : request.name;
  if (request.detach)
    return detach(request, program, name);
  Interrupts interrupts;
  SessionFolder folder(session_base(), "run-" + random_id(), folder_life);
  auto remove = std::shared_ptr<void>(nullptr, [&](void*) { folder.remove(); });
  OutputFiles files{.out = folder.path() + "/out", .err = folder.path() + "/err"};
  auto id = submit_driver(request, driver_words(request, program, name, files));
  Attached attached(id, folder, files);
  auto row = attached.wait(interrupts);
  remove_sessions_of(id);
  return report_end(request, id, row, attached.signal());
}

} // namespace fiber::cli::slurm
