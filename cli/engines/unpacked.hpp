// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace fiber::cli {

/// Looks at what an archive of somebody who is not trusted was unpacked to, in a folder
/// that is private to this user. Takes away modes beyond 0777, and gives the owner access
/// to all folders. Returns how many bytes the files have.
///
/// Throws Error that names the entry, if `folder` does not hold one file or one folder,
/// or if there is anything but files, folders and symlinks that lead to nothing outside.
std::size_t tame_unpacked(const std::string& folder);

} // namespace fiber::cli
