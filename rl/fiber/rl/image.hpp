// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace fiber::rl {

/// A picture in colour.
struct Image {
  int width = 0, height = 0; ///< In pixels.
  /// Red, green and blue of each pixel, row by row from the top:
  /// 3 x width x height bytes.
  std::vector<std::uint8_t> rgb;

  friend bool operator==(const Image&, const Image&) = default;
};

/// Writes a PNG file. Throws std::invalid_argument for an image without pixels or with
/// another number of bytes than its size asks for, std::runtime_error if the file cannot
/// be written.
void write_png(const std::filesystem::path& path, const Image& image);

/// Writes an animated GIF file that loops over the images. Each is shown for
/// `frame_time`, rounded to hundredths of a second, but for at least two hundredths:
/// viewers ignore shorter times. If all images together have at most 256 colours, the
/// colours are kept. Otherwise each becomes the nearest of 6 x 7 x 6 levels. Throws as
/// write_png(), and std::invalid_argument also for no images and for images of different
/// sizes.
void write_gif(const std::filesystem::path& path, std::span<const Image> images,
               std::chrono::milliseconds frame_time);

} // namespace fiber::rl
