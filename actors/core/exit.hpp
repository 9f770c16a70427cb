// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <caf/error.hpp>

namespace fiber::actors {

/// Why an actor ended, as its supervisor judges it.
enum class ExitKind : std::uint8_t {
  planned,  ///< It was done or was asked to end.
  charged,  ///< It was lost, and a task is to blame.
  lease,    ///< It ended itself since it heard nothing from its driver.
  lost,     ///< It failed, and nobody knows better.
  escalated ///< A supervisor whose children fail too often.
};

/// The reason to quit() with.
caf::error make_exit(ExitKind kind, std::string text);

/// The reason to end a child with that is to start again.
caf::error restart_exit();
bool is_restart_exit(const caf::error& reason);

/// The kind of an end. None, normal, user_shutdown and that are planned; whatever
/// make_exit() did not make is lost: kill, exceptions, other errors.
ExitKind exit_kind(const caf::error& reason);

/// The reason in words.
std::string exit_text(const caf::error& reason);

} // namespace fiber::actors
