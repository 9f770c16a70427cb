// SPDX-License-Identifier: Apache-2.0
// The PNG format: https://www.w3.org/TR/png-3/

#include <stdexcept>
#include <string>
#include <string_view>

#include <zlib.h>

#include "rl/report/image_file.hpp"

namespace fiber::rl {
namespace {
namespace png {

using report::append;
using report::Bytes;

constexpr std::string_view signature = "\x89PNG\r\n\x1a\n";

void append_number(Bytes& bytes, unsigned long value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<std::uint8_t>(value >> shift));
}

void append_chunk(Bytes& file, std::string_view type, const Bytes& data) {
  append_number(file, data.size());
  const auto start = file.size();
  append(file, type);
  file.insert(file.end(), data.begin(), data.end());
  append_number(file, crc32_z(0, file.data() + start, file.size() - start));
}

Bytes header(const Image& image) {
  Bytes data;
  append_number(data, static_cast<unsigned long>(image.width));
  append_number(data, static_cast<unsigned long>(image.height));
  append(data, std::string_view("\x08\x02\0\0\0", 5)); // 8 bits; RGB; not interlaced.
  return data;
}

Bytes compressed_rows(const Image& image) {
  const auto row = 3 * static_cast<std::size_t>(image.width);
  Bytes rows;
  rows.reserve(image.rgb.size() + static_cast<std::size_t>(image.height));
  for (std::size_t at = 0; at < image.rgb.size(); at += row) {
    rows.push_back(0); // Without a filter, which suits drawings.
    rows.insert(rows.end(), image.rgb.data() + at, image.rgb.data() + at + row);
  }
  auto size = compressBound(rows.size());
  Bytes data(size);
  if (compress2(data.data(), &size, rows.data(), rows.size(), Z_BEST_COMPRESSION) != Z_OK)
    throw std::runtime_error("zlib cannot compress " + std::to_string(rows.size()) +
                             " bytes");
  data.resize(size);
  return data;
}

} // namespace png
} // namespace

void write_png(const std::filesystem::path& path, const Image& image) {
  report::check_image(image, "write_png");
  report::Bytes file;
  report::append(file, png::signature);
  png::append_chunk(file, "IHDR", png::header(image));
  png::append_chunk(file, "IDAT", png::compressed_rows(image));
  png::append_chunk(file, "IEND", {});
  report::write_file(path, file);
}

} // namespace fiber::rl
