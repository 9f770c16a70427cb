// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber::detail {

/// Returns when the name of the file at `path` is on the disk, so that the file is still
/// there after a loss of power. Not every file system can do that: nothing is thrown.
void sync_folder_of(const std::string& path);

} // namespace fiber::detail
