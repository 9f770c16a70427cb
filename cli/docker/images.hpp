// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/docker/client.hpp"

namespace fiber::cli::docker {

/// An image as the engine describes it.
struct ImageNews {
  bool there = false;
  std::string problem; ///< Why it is not there.
  std::vector<std::string> entrypoint;
};

/// Looks up an image, and pulls it if the engine does not have it, as a session does.
ImageNews find_image(Client& client, const std::string& name);

/// Gives the engine an archive. Throws Error.
void load_image(Client& client, const std::string& name, std::string archive);

/// Removes the image, if no container uses it.
void remove_image(Client& client, const std::string& name);

/// Pushes an image to the registry in its name, with the credentials of
/// ~/.docker/config.json. Throws Error.
void push_image(Client& client, const std::string& name);

} // namespace fiber::cli::docker
