// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <caf/error.hpp>

#include "fiber/detail/caf/message_type.hpp"

namespace fiber::actors {

/// Why an actor ended, as its supervisor judges it.
enum class ExitKind : std::uint8_t {
  planned,  ///< It was done or was asked to end.
  charged,  ///< It was lost, and the loss is charged to a task.
  lease,    ///< Its lease was over: it ended itself, as it heard nothing from the driver.
  lost,     ///< It failed for any other reason.
  escalated ///< A supervisor whose children fail too often.
};

/// Makes a reason for quit().
caf::error make_exit(ExitKind kind, std::string text);

/// Makes the reason to end a child that is to be restarted.
caf::error restart_exit();
bool is_restart_exit(const caf::error& reason);

/// Returns the kind of an exit reason. No reason, `normal`, `user_shutdown` and
/// restart_exit() are planned. Any other reason that make_exit() did not make is lost:
/// kills, exceptions, other errors.
ExitKind exit_kind(const caf::error& reason);

/// Returns the reason in words.
std::string exit_text(const caf::error& reason);

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::ExitKind) // The category of these reasons.
