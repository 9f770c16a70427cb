// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/backend.hpp"
#include "backends/output/status_lines.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::detail {

/// The backend that `settings` name; not for "inline". What jobs write goes to
/// `terminal`. Throws
/// backends::EngineError, backends::SettingError.
std::shared_ptr<backends::Backend>
make_backend(const Settings& settings, std::shared_ptr<backends::StatusLines> terminal);

} // namespace fiber::detail
