// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cli/docker/client.hpp"

namespace fiber::cli::docker {

/// Returns the bytes of a file of an image, through symlinks; nothing if it is not there.
/// A name without "/" is looked up in the usual folders. Throws Error.
std::optional<std::string> file_of_image(Client& client, const std::string& image,
                                         const std::string& path);

} // namespace fiber::cli::docker
