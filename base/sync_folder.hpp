// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber {

/// Syncs the folder of `path`, so that the file's name survives a power loss. Does not
/// throw, because some file systems cannot do that.
void sync_folder_of(const std::string& path);

} // namespace fiber
