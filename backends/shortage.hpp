// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace fiber::backends {

/// Returns whether an engine refused a job because something is used up that may become
/// free again: files, processes, memory, disk space, devices, a quota. `status` is an
/// errno or HTTP status, `words` are those of the engine.
bool is_shortage(int status, std::string_view words);

} // namespace fiber::backends
