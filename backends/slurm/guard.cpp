// SPDX-License-Identifier: Apache-2.0
#include "backends/slurm/guard.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "backends/engine/errors.hpp"
#include "backends/engine/message_channel.hpp"
#include "backends/engine/spawn.hpp"
#include "backends/slurm/strangers.hpp"

namespace fiber::backends::slurm {

namespace {

// It reads from the driver until that has died. Its arguments: the prefix of the jobs'
// names, the user, the session's folder. It tries for ten minutes, because Slurm's
// controller may be away.
constexpr auto script = R"(
trap '' HUP INT TERM
read -r word
tries=0
while [ $tries -lt 60 ]; do
  tries=$((tries + 1))
  if rows=$(squeue --noheader --user="$2" --format='%F %j'); then
    ids=$(echo "$rows" | sort -u | while read -r id name; do
      case $name in "$1"*) echo "$id" ;; esac
    done)
    if [ -z "$ids" ]; then break; fi
    scancel $ids
    sleep 1
  else
    sleep 10
  fi
done
rm -rf "$3"
)";

} // namespace

Guard::Guard(const std::string& prefix, const std::string& folder,
             const std::vector<std::string>& environment) {
  auto [waiting, driver] = local::make_pipe();
  ::fcntl(waiting.get(), F_SETFL, 0); // It blocks.
  UniqueFd nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!nothing)
    throw engine_error("open /dev/null", errno);
  auto error = spawn_child({.executable = "/bin/sh",
                            .argv = {"fiber-slurm-guard", "-c", script,
                                     "fiber-slurm-guard", prefix, user_id(), folder},
                            .environment = environment,
                            .input = waiting.get(),
                            .output = nothing.get(),
                            .errors = nothing.get()},
                           pid_);
  if (error != 0)
    throw engine_error("start /bin/sh", error);
  driver_ = std::move(driver);
}

void Guard::take_over() {
  driver_.reset();
  pid_ = 0;
}

Guard::~Guard() {
  if (pid_ == 0)
    return;
  siginfo_t ended{};
  auto id = static_cast<id_t>(pid_);
  // The program itself may have reaped it; then its number may be another's.
  if (::waitid(P_PID, id, &ended, WEXITED | WNOHANG | WNOWAIT) != 0)
    return;
  ::kill(-pid_, SIGKILL);
  ::waitid(P_PID, id, &ended, WEXITED);
}

} // namespace fiber::backends::slurm
