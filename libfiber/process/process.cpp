// SPDX-License-Identifier: Apache-2.0
#include "fiber/process.hpp"

#include "libfiber/process/process_core.hpp"
#include "libfiber/session/process_table.hpp"

namespace fiber {
namespace {

constexpr std::chrono::seconds terminate_grace{10};

} // namespace

Process::Process(ProcessOptions options, detail::PackedCall call)
  : core_(detail::ProcessCore::make(std::move(options), std::move(call))) {}
Process::Process(std::shared_ptr<detail::ProcessCore> core) : core_(std::move(core)) {}

void Process::start() {
  core_->start();
}
void Process::join() {
  core_->join(detail::Results::forever);
}
bool Process::join_until(detail::Results::Clock::time_point limit) {
  return core_->join(limit);
}
void Process::terminate() {
  core_->end("terminate", terminate_grace);
}
void Process::kill() {
  core_->kill();
}
bool Process::is_alive() const {
  return core_->is_alive();
}
std::optional<int> Process::exit_code() const {
  return core_->exit_code();
}
std::string Process::name() const {
  return core_->name();
}
std::string Process::job_id() const {
  return core_->job_id();
}
int Process::pid() const {
  return core_->pid();
}
std::string Process::logs() const {
  return core_->logs();
}

std::shared_ptr<detail::Results> detail::run_async(PackedCall call) {
  return ProcessCore::start_async(std::move(call));
}

std::vector<Process> active_children() {
  std::vector<Process> all;
  for (auto& process : detail::Runtime::require()->processes().running())
    all.push_back(Process(std::static_pointer_cast<detail::ProcessCore>(process)));
  return all;
}

} // namespace fiber
