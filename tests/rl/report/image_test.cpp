// SPDX-License-Identifier: Apache-2.0
// A PNG and a GIF decode to the images that they were written from. The decoders below
// follow the formats' specifications, not the writers.

#include "fiber/rl/image.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {

using Bytes = std::vector<std::uint8_t>;
using namespace std::chrono_literals;

// Reads bytes in order and fails the test at the end of them.
class Reader {
public:
  explicit Reader(Bytes bytes) : bytes_(std::move(bytes)) {}
  std::uint8_t byte() { return bytes_.at(at_++); }
  unsigned little() {
    const unsigned low = byte();
    return low | static_cast<unsigned>(byte()) << 8;
  }
  std::uint32_t big() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i)
      value = value << 8 | byte();
    return value;
  }
  Bytes take(std::size_t count) {
    Bytes taken;
    while (taken.size() < count)
      taken.push_back(byte());
    return taken;
  }
  std::string text(std::size_t count) {
    const auto bytes = take(count);
    return {bytes.begin(), bytes.end()};
  }
  bool done() const { return at_ == bytes_.size(); }

private:
  Bytes bytes_;
  std::size_t at_ = 0;
};

Image decoded_png(Reader file) {
  EXPECT_EQ(file.text(8), "\x89PNG\r\n\x1a\n");
  Image image;
  Bytes compressed;
  while (!file.done()) {
    const auto size = file.big();
    const auto type = file.text(4);
    auto data = file.take(size);
    Bytes checked(type.begin(), type.end());
    checked.insert(checked.end(), data.begin(), data.end());
    EXPECT_EQ(file.big(), crc32_z(0, checked.data(), checked.size())) << type;
    if (type == "IHDR") {
      Reader header(data);
      image.width = static_cast<int>(header.big());
      image.height = static_cast<int>(header.big());
      EXPECT_EQ(header.take(5), (Bytes{8, 2, 0, 0, 0}));
    }
    if (type == "IDAT")
      compressed.insert(compressed.end(), data.begin(), data.end());
    EXPECT_EQ(file.done(), type == "IEND");
  }
  const auto row = 3 * static_cast<std::size_t>(image.width);
  Bytes rows((row + 1) * static_cast<std::size_t>(image.height));
  auto size = static_cast<uLongf>(rows.size());
  EXPECT_EQ(uncompress(rows.data(), &size, compressed.data(), compressed.size()), Z_OK);
  EXPECT_EQ(size, rows.size());
  for (std::size_t at = 0; at < rows.size(); at += row + 1) {
    EXPECT_EQ(rows[at], 0) << "a filter";
    image.rgb.insert(image.rgb.end(), rows.data() + at + 1, rows.data() + at + 1 + row);
  }
  return image;
}

Bytes unpacked_lzw(Reader& file, std::size_t count) {
  const int min_bits = file.byte();
  Bytes data;
  while (const auto size = file.byte()) {
    const auto block = file.take(size);
    data.insert(data.end(), block.begin(), block.end());
  }
  const unsigned clear = 1u << min_bits, end = clear + 1;
  std::vector<Bytes> table;
  Bytes out, previous;
  int bits = min_bits + 1;
  std::size_t at = 0;
  for (;;) {
    unsigned code = 0;
    for (int i = 0; i < bits; ++i, ++at)
      code |= (data.at(at / 8) >> at % 8 & 1u) << i;
    if (code == end)
      break;
    if (code == clear) {
      table.clear();
      for (unsigned i = 0; i < clear; ++i)
        table.push_back({static_cast<std::uint8_t>(i)});
      table.resize(end + 1);
      previous.clear();
      bits = min_bits + 1;
      continue;
    }
    Bytes entry = code < table.size() ? table[code] : previous;
    if (code >= table.size()) {
      EXPECT_EQ(code, table.size());
      entry.push_back(previous.at(0));
    }
    out.insert(out.end(), entry.begin(), entry.end());
    if (!previous.empty() && table.size() < 4096) {
      previous.push_back(entry.at(0));
      table.push_back(previous);
    }
    previous = entry;
    if (table.size() == 1u << bits && bits < 12)
      ++bits;
  }
  EXPECT_EQ(out.size(), count);
  EXPECT_EQ((at + 7) / 8, data.size());
  return out;
}

struct Animation {
  std::vector<Image> images;
  std::vector<unsigned> hundredths;
  bool repeats = false;
};

void read_frame(Reader& file, const Bytes& palette, Image& canvas) {
  const auto left = file.little(), top = file.little();
  const auto width = file.little(), height = file.little();
  EXPECT_EQ(file.byte(), 0);
  const auto indices = unpacked_lzw(file, width * height);
  for (unsigned y = 0; y < height; ++y)
    for (unsigned x = 0; x < width; ++x) {
      const auto from = std::size_t{3} * indices.at(y * width + x);
      const auto to = 3 * ((y + top) * static_cast<std::size_t>(canvas.width) + x + left);
      for (std::size_t i = 0; i < 3; ++i)
        canvas.rgb.at(to + i) = palette.at(from + i);
    }
}

Animation decoded_gif(Reader file) {
  EXPECT_EQ(file.text(6), "GIF89a");
  Image canvas;
  canvas.width = static_cast<int>(file.little());
  canvas.height = static_cast<int>(file.little());
  canvas.rgb.resize(3 * static_cast<std::size_t>(canvas.width * canvas.height));
  EXPECT_EQ(file.take(3), (Bytes{0xf7, 0, 0}));
  const auto palette = file.take(3 * 256);
  Animation animation;
  for (;;) {
    const auto kind = file.byte();
    if (kind == ';')
      break;
    if (kind == ',') {
      read_frame(file, palette, canvas);
      animation.images.push_back(canvas);
      continue;
    }
    EXPECT_EQ(kind, 0x21);
    const auto label = file.byte();
    std::vector<Bytes> blocks;
    while (const auto size = file.byte())
      blocks.push_back(file.take(size));
    if (label == 0xf9)
      animation.hundredths.push_back(blocks.at(0).at(1) + 256u * blocks.at(0).at(2));
    else
      animation.repeats = blocks.at(1) == Bytes{1, 0, 0};
  }
  EXPECT_TRUE(file.done());
  return animation;
}

// Writes files that go with the test.
class ImageTest : public testing::Test {
protected:
  ~ImageTest() override { std::filesystem::remove(path_); }
  Reader written() const {
    std::ifstream file(path_, std::ios::binary);
    return Reader(Bytes(std::istreambuf_iterator<char>(file), {}));
  }

  std::filesystem::path path_ =
    std::filesystem::temp_directory_path() /
    ("fiber_rl_image_test_" +
     std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

// Noise of this many colours, in stripes of random lengths.
Image noise(int width, int height, std::uint64_t seed, std::uint64_t colors) {
  Random random(seed);
  Image image{width, height, {}};
  const auto size =
    3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  while (image.rgb.size() < size) {
    const auto color = random.below(colors) * 0x010203 % 0xffffff;
    for (auto i = random.below(4); i-- > 0 && image.rgb.size() < size;)
      for (int shift : {16, 8, 0})
        image.rgb.push_back(static_cast<std::uint8_t>(color >> shift));
  }
  return image;
}

TEST_F(ImageTest, a_png_decodes_to_its_image) {
  for (const auto& image : {noise(37, 21, 1, 5'000), noise(1, 1, 2, 9)}) {
    write_png(path_, image);
    EXPECT_EQ(decoded_png(written()), image);
  }
}

TEST_F(ImageTest, a_gif_decodes_to_its_images) {
  // The second and the third are equal, the fourth differs in one pixel; noise fills the
  // table of codes several times.
  std::vector images = {noise(200, 150, 1, 200), noise(200, 150, 2, 200)};
  images.push_back(images.back());
  images.push_back(images.back());
  std::copy_n(images[0].rgb.begin(), 3, images.back().rgb.begin() + 3 * 777);
  write_gif(path_, images, 45ms);
  const auto animation = decoded_gif(written());
  EXPECT_TRUE(animation.repeats);
  EXPECT_EQ(animation.hundredths, (std::vector<unsigned>{5, 5, 5, 5}));
  ASSERT_EQ(animation.images.size(), images.size());
  for (std::size_t i = 0; i < images.size(); ++i)
    EXPECT_TRUE(animation.images[i] == images[i]) << "image " << i;
}

TEST_F(ImageTest, a_gif_shows_an_image_as_long_as_its_format_allows) {
  const std::vector images = {noise(3, 3, 1, 9)};
  for (const auto& [time, hundredths] :
       {std::pair{std::chrono::milliseconds::max(), 65'535u},
        std::pair{std::chrono::milliseconds::min(), 2u}}) {
    write_gif(path_, images, time);
    EXPECT_EQ(decoded_gif(written()).hundredths, (std::vector<unsigned>{hundredths}));
  }
}

TEST_F(ImageTest, a_gif_of_any_length_of_data_ends_where_its_codes_do) {
  for (int width = 1; width < 1'200; width += 61) {
    const std::vector images = {noise(width, 1, 3, 256)};
    write_gif(path_, images, 20ms);
    ASSERT_TRUE(decoded_gif(written()).images.at(0) == images[0]) << width << " pixels";
  }
  // Different colours need a code each: the codes grow with the 255th, the last one.
  for (int width = 253; width <= 256; ++width) {
    Image image{width, 1, {}};
    for (int i = 0; i < width; ++i)
      image.rgb.insert(image.rgb.end(), 3, static_cast<std::uint8_t>(i));
    write_gif(path_, std::vector{image}, 20ms);
    ASSERT_TRUE(decoded_gif(written()).images.at(0) == image) << width << " colours";
  }
}

TEST_F(ImageTest, a_gif_of_many_colors_takes_near_ones) {
  const std::vector images = {noise(90, 90, 4, 5'000)};
  write_gif(path_, images, 100ms);
  const auto shown = decoded_gif(written()).images.at(0);
  int worst = 0;
  for (std::size_t i = 0; i < shown.rgb.size(); ++i)
    worst = std::max(worst, std::abs(shown.rgb[i] - images[0].rgb[i]));
  EXPECT_GT(worst, 0);
  EXPECT_LE(worst, 26); // Half the distance of six levels.
}

template <class F>
std::string error_of(F call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(ImageTest, an_image_that_cannot_be_written_is_named) {
  EXPECT_EQ(error_of([&] {
              write_png(path_, {2, 2, Bytes(11)});
            }),
            "write_png: an image of 2 x 2 pixels has 11 bytes, not 12");
  EXPECT_EQ(error_of([&] { write_png(path_, {}); }),
            "write_png: an image of 0 x 0 pixels; each side must be from 1 to 65535");
  EXPECT_EQ(error_of([&] { write_gif(path_, {}, 20ms); }),
            "write_gif: no images; there must be at least one");
  const std::vector images = {noise(2, 2, 1, 9), noise(2, 3, 1, 9)};
  EXPECT_EQ(error_of([&] { write_gif(path_, images, 20ms); }),
            "write_gif: image 1 has another size than image 0");
  EXPECT_EQ(error_of([&] { write_png("/nowhere/at/all.png", images[0]); }),
            "cannot write /nowhere/at/all.png: No such file or directory");
}

} // namespace
} // namespace fiber::rl
