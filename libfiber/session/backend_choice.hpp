// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/backend.hpp"
#include "backends/output/status_lines.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::detail {

/// A backend, and how its engine knows the session's objects.
struct MadeBackend {
  std::shared_ptr<backends::Backend> backend;
  std::string session_id; ///< Empty with `observe = off`.
};

/// Returns the backend that `settings` name, which must not be "inline". While it lives,
/// a note tells the command `fiber` where its jobs are, see observer/session_note.hpp.
/// The output of jobs goes to `terminal`. Throws backends::EngineError,
/// backends::SettingError.
MadeBackend make_backend(const Settings& settings,
                         std::shared_ptr<backends::StatusLines> terminal);

} // namespace fiber::detail
