// SPDX-License-Identifier: Apache-2.0
#include "fiber/supervisor.hpp"

#include <utility>

#include "libfiber/supervision/supervisor_core.hpp"

namespace fiber {

Supervisor::Supervisor(SupervisorOptions options)
  : core_(detail::SupervisorCore::make(options)) {}
Supervisor::Supervisor(std::shared_ptr<detail::SupervisorCore> core)
  : core_(std::move(core)) {}
Supervisor::Supervisor(Supervisor&&) noexcept = default;

Supervisor& Supervisor::operator=(Supervisor&& other) noexcept {
  if (this != &other) {
    Supervisor last(std::move(*this));
    core_ = std::move(other.core_);
  }
  return *this;
}

Supervisor::~Supervisor() {
  if (core_ && core_->is_root())
    core_->stop();
}

const std::shared_ptr<detail::SupervisorCore>& Supervisor::core() const {
  if (!core_)
    throw Error("a Supervisor was used after it was moved away");
  return core_;
}

detail::CheckpointHandle Supervisor::new_checkpoint() const {
  core()->check_open();
  return detail::CheckpointHandle::open(std::nullopt, true);
}

detail::ObjectRef Supervisor::spawn_object(const SpawnOptions& options,
                                           const std::type_info& type,
                                           const detail::PackedItem& recipe) {
  return core()->spawn(options, type, recipe);
}

Supervisor Supervisor::supervisor(SupervisorOptions options) {
  return Supervisor(core()->nested(options));
}

void Supervisor::stop() {
  core()->stop();
}

void Supervisor::tell_restarts(const detail::ObjectRef& child, std::function<void()> f) {
  core()->on_restart(child, std::move(f));
}

std::vector<ChildInfo> Supervisor::children() const {
  return core()->children();
}

} // namespace fiber
