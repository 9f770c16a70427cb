// SPDX-License-Identifier: Apache-2.0
// The GIF format: https://www.w3.org/Graphics/GIF/spec-gif89a.txt

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "rl/report/image_file.hpp"

namespace fiber::rl {
namespace {
namespace gif {

using report::append;
using report::Bytes;

constexpr std::size_t max_colors = 256;
constexpr int color_bits = 8;

void append_number(Bytes& bytes, int value) {
  bytes.push_back(static_cast<std::uint8_t>(value));
  bytes.push_back(static_cast<std::uint8_t>(value >> 8));
}

// The colours of all images if there are at most 256, else a cube of levels.
class Palette {
public:
  explicit Palette(std::span<const Image> images) {
    for (const auto& image : images)
      for (std::size_t at = 0; at < image.rgb.size(); at += 3) {
        const auto color = color_at(image, at);
        if (indices_.contains(color))
          continue;
        if (indices_.size() == max_colors) {
          exact_ = false;
          make_cube();
          return;
        }
        indices_.emplace(color, static_cast<std::uint8_t>(indices_.size()));
        colors_.insert(colors_.end(), image.rgb.data() + at, image.rgb.data() + at + 3);
      }
    colors_.resize(3 * max_colors);
  }

  // Three bytes for each of 256 colours.
  const Bytes& colors() const { return colors_; }

  Bytes indices_of(const Image& image) const {
    Bytes indices;
    indices.reserve(image.rgb.size() / 3);
    for (std::size_t at = 0; at < image.rgb.size(); at += 3)
      indices.push_back(exact_ ? indices_.at(color_at(image, at))
                               : nearest(image.rgb.data() + at));
    return indices;
  }

private:
  static constexpr std::array<int, 3> levels = {6, 7, 6}; // Of red, green, blue.

  static std::uint32_t color_at(const Image& image, std::size_t at) {
    return static_cast<std::uint32_t>(image.rgb[at] << 16 | image.rgb[at + 1] << 8 |
                                      image.rgb[at + 2]);
  }

  void make_cube() {
    colors_.clear();
    for (int red = 0; red < levels[0]; ++red)
      for (int green = 0; green < levels[1]; ++green)
        for (int blue = 0; blue < levels[2]; ++blue)
          for (int value : {255 * red / (levels[0] - 1), 255 * green / (levels[1] - 1),
                            255 * blue / (levels[2] - 1)})
            colors_.push_back(static_cast<std::uint8_t>(value));
    colors_.resize(3 * max_colors);
  }

  static std::uint8_t nearest(const std::uint8_t* rgb) {
    int index = 0;
    for (std::size_t i = 0; i < levels.size(); ++i)
      index = index * levels[i] + (rgb[i] * (levels[i] - 1) + 127) / 255;
    return static_cast<std::uint8_t>(index);
  }

  bool exact_ = true;
  std::unordered_map<std::uint32_t, std::uint8_t> indices_;
  Bytes colors_;
};

// Collects codes of 9 to 12 bits, the first in the lowest bits, as blocks of up to 255
// bytes.
class CodeWriter {
public:
  void write(unsigned code, int bits) {
    pending_ |= code << pending_bits_;
    pending_bits_ += bits;
    for (; pending_bits_ >= 8; pending_bits_ -= 8, pending_ >>= 8)
      bytes_.push_back(static_cast<std::uint8_t>(pending_));
  }

  void append_blocks(Bytes& file) {
    if (pending_bits_ > 0)
      bytes_.push_back(static_cast<std::uint8_t>(pending_));
    for (std::size_t at = 0; at < bytes_.size(); at += 255) {
      const auto size = std::min<std::size_t>(255, bytes_.size() - at);
      file.push_back(static_cast<std::uint8_t>(size));
      file.insert(file.end(), bytes_.data() + at, bytes_.data() + at + size);
    }
    file.push_back(0);
  }

private:
  Bytes bytes_;
  std::uint32_t pending_ = 0;
  int pending_bits_ = 0;
};

// GIF's variant of LZW (Welch 1984): codes of growing width, a code that clears the
// table, and one that ends the data.
void append_compressed(Bytes& file, const Bytes& indices) {
  constexpr unsigned clear = max_colors, end = clear + 1, first = clear + 2, limit = 4096;
  // next[code][index]: the code of the string `code` and one more index; 0: none.
  std::vector<std::array<std::uint16_t, max_colors>> next(limit);
  CodeWriter codes;
  unsigned free = first;
  int bits = color_bits + 1;
  file.push_back(color_bits);
  codes.write(clear, bits);
  unsigned code = indices.front();
  for (std::size_t i = 1; i < indices.size(); ++i) {
    if (const unsigned longer = next[code][indices[i]]; longer != 0) {
      code = longer;
      continue;
    }
    codes.write(code, bits);
    if (free < limit) {
      next[code][indices[i]] = static_cast<std::uint16_t>(free);
      if (free == 1u << bits)
        ++bits;
      ++free;
    } else {
      codes.write(clear, bits);
      next.assign(limit, {});
      free = first;
      bits = color_bits + 1;
    }
    code = indices[i];
  }
  codes.write(code, bits);
  // The reader adds an entry for that code, too, and may go on to wider codes.
  if (free == 1u << bits && bits < 12)
    ++bits;
  codes.write(end, bits);
  codes.append_blocks(file);
}

struct Area {
  int left = 0, top = 0, width = 0, height = 0;
};

// The smallest area in which the images differ, but at least one pixel.
Area difference(const Bytes& before, const Bytes& after, int width, int height) {
  int left = width, top = height, right = -1, bottom = -1;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const auto at = static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                      static_cast<std::size_t>(x);
      if (before[at] == after[at])
        continue;
      left = std::min(left, x);
      right = std::max(right, x);
      top = std::min(top, y);
      bottom = std::max(bottom, y);
    }
  if (right < 0)
    return {0, 0, 1, 1};
  return {left, top, right - left + 1, bottom - top + 1};
}

void append_header(Bytes& file, const Image& image, const Palette& palette) {
  append(file, "GIF89a");
  append_number(file, image.width);
  append_number(file, image.height);
  // A palette of 2^(7 + 1) colours; the background is the first; pixels are square.
  append(file, std::string_view("\xf7\0\0", 3));
  file.insert(file.end(), palette.colors().begin(), palette.colors().end());
  append(file, std::string_view("\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0", 19)); // Repeat.
}

void append_frame(Bytes& file, const Bytes& indices, const Area& area, int width,
                  int hundredths) {
  append(file, std::string_view("\x21\xf9\x04\x04", 4)); // What is there stays.
  append_number(file, hundredths);
  append(file, std::string_view("\0\0", 2));
  append(file, ",");
  for (int value : {area.left, area.top, area.width, area.height})
    append_number(file, value);
  file.push_back(0);
  Bytes part;
  for (int y = area.top; y < area.top + area.height; ++y) {
    const auto* row = indices.data() + static_cast<std::ptrdiff_t>(y) * width;
    part.insert(part.end(), row + area.left, row + area.left + area.width);
  }
  append_compressed(file, part);
}

void check(std::span<const Image> images) {
  if (images.empty())
    throw std::invalid_argument("write_gif: no images; there must be at least one");
  for (std::size_t i = 0; i < images.size(); ++i) {
    report::check_image(images[i], "write_gif");
    if (images[i].width != images[0].width || images[i].height != images[0].height)
      throw std::invalid_argument("write_gif: image " + std::to_string(i) +
                                  " has another size than image 0");
  }
}

} // namespace gif
} // namespace

void write_gif(const std::filesystem::path& path, std::span<const Image> images,
               std::chrono::milliseconds frame_time) {
  gif::check(images);
  const gif::Palette palette(images);
  const int width = images[0].width, height = images[0].height;
  using std::chrono::milliseconds;
  const auto time = std::clamp(frame_time, milliseconds(20), milliseconds(655'350));
  const auto hundredths = static_cast<int>((time.count() + 5) / 10);
  report::Bytes file;
  gif::append_header(file, images[0], palette);
  report::Bytes before;
  for (const auto& image : images) {
    auto indices = palette.indices_of(image);
    const auto area = before.empty() ? gif::Area{0, 0, width, height}
                                     : gif::difference(before, indices, width, height);
    gif::append_frame(file, indices, area, width, hundredths);
    before = std::move(indices);
  }
  file.push_back(';');
  report::write_file(path, file);
}

} // namespace fiber::rl
