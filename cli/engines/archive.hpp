// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace fiber::cli {

/// Returns a tar archive of a file or folder, which has the relative path `name` there.
/// Throws Error.
std::string pack_files(const std::string& path, const std::string& name);

/// Returns the number of bytes in the files of a file or folder, without those that links
/// lead to.
std::size_t bytes_in(const std::string& path);

/// Returns a path within a volume in its plain form, "/a/b". Throws Error if it would
/// leave the volume.
std::string path_in_volume(const std::string& path);

} // namespace fiber::cli
