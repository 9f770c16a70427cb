// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "fiber/rl/image.hpp"

namespace fiber::rl::report {

using Bytes = std::vector<std::uint8_t>;

inline void append(Bytes& bytes, std::string_view text) {
  for (char each : text) // g++ 12 takes insert() for a write beyond the end.
    bytes.push_back(static_cast<std::uint8_t>(each));
}

/// Throws std::invalid_argument for an image without pixels, with more than 65,535 in a
/// row or column, or with another number of bytes than its size asks for. `what` begins
/// the message.
void check_image(const Image& image, std::string_view what);

/// Writes these bytes as a file. Throws std::runtime_error that names the path.
void write_file(const std::filesystem::path& path, const Bytes& bytes);

} // namespace fiber::rl::report
