// SPDX-License-Identifier: Apache-2.0
#include "rl/report/image_file.hpp"

#include <stdexcept>
#include <string>

#include "base/file_draft.hpp"

namespace fiber::rl::report {

void check_image(const Image& image, std::string_view what) {
  constexpr int most = 65'535;
  const auto size = std::to_string(image.width) + " x " + std::to_string(image.height);
  if (image.width < 1 || image.height < 1 || image.width > most || image.height > most)
    throw std::invalid_argument(std::string(what) + ": an image of " + size +
                                " pixels; each side must be from 1 to 65535");
  const auto needed =
    3 * static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
  if (image.rgb.size() != needed)
    throw std::invalid_argument(std::string(what) + ": an image of " + size +
                                " pixels has " + std::to_string(image.rgb.size()) +
                                " bytes, not " + std::to_string(needed));
}

void write_file(const std::filesystem::path& path, const Bytes& bytes) {
  replace_file(path.string(),
               {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

} // namespace fiber::rl::report
