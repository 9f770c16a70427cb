// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/checkpoint_file.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/file_draft.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::rl {
namespace {
namespace labelled_file {

namespace fs = std::filesystem;

// FNV-1a: finds damage, not malice.
class Checksum {
public:
  void add(std::string_view bytes) {
    for (unsigned char byte : bytes)
      sum_ = (sum_ ^ byte) * 0x100000001b3;
  }
  std::string text() const {
    std::string digits(16, '0');
    for (int i = 0; i < 16; ++i)
      digits[static_cast<std::size_t>(15 - i)] =
        "0123456789abcdef"[(sum_ >> (4 * i)) & 15];
    return digits;
  }

private:
  std::uint64_t sum_ = 0xcbf29ce484222325;
};

// The last line of the label, before the content: "content: SIZE CHECKSUM".
constexpr std::string_view content_key = "content";

// Takes a line and its end off the front.
std::optional<std::string_view> take_line(std::string_view& text) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos)
    return {};
  const auto line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::pair<std::string_view, std::string_view> split(std::string_view line,
                                                    std::string_view separator) {
  const auto at = line.find(separator);
  if (at == std::string_view::npos)
    return {line, {}};
  return {line.substr(0, at), line.substr(at + separator.size())};
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw std::runtime_error(path.string() + ' ' + why);
}

void check_label(const FileLabel& label) {
  auto one_line = [](const std::string& text) {
    return !text.empty() && text.find('\n') == std::string::npos;
  };
  if (!one_line(label.kind) || label.kind.find(' ') != std::string::npos)
    throw std::invalid_argument("the kind of a file is one word, not \"" + label.kind +
                                '"');
  for (const auto& [key, value] : label.settings)
    if (!one_line(key) || key.find(": ") != std::string::npos || key == content_key ||
        value.find('\n') != std::string::npos)
      throw std::invalid_argument("a file's label cannot hold the setting \"" + key +
                                  ": " + value + '"');
}

std::string first_lines(const FileLabel& label) {
  auto lines = label.kind + ' ' + std::to_string(label.version) + '\n';
  for (const auto& [key, value] : label.settings)
    lines += key + ": " + value + '\n';
  return lines;
}

// Compares the settings that both name or that only `wanted` does.
void compare(const fs::path& path, const std::map<std::string, std::string>& saved,
             const std::map<std::string, std::string>& wanted) {
  std::string differences;
  for (const auto& [key, value] : wanted) {
    const auto found = saved.find(key);
    if (found == saved.end())
      differences += "\n  " + key + ": none was saved, now " + value;
    else if (found->second != value)
      differences += "\n  " + key + ": saved with " + found->second + ", now " + value;
  }
  if (!differences.empty())
    refuse(path, "was saved with other settings:" + differences);
}

// The content after the label, checked against its size and checksum.
std::string_view checked_content(const fs::path& path, std::string_view label_lines,
                                 std::string_view size_and_sum, std::string_view rest) {
  const auto [size_text, sum] = split(size_and_sum, " ");
  std::size_t size = 0;
  const auto* end = size_text.data() + size_text.size();
  if (const auto parsed = std::from_chars(size_text.data(), end, size);
      parsed.ec != std::errc() || parsed.ptr != end)
    refuse(path, "is damaged: its label gives no size");
  if (rest.size() < size)
    refuse(path, "is truncated: " + std::to_string(rest.size()) + " of " +
                   std::to_string(size) + " bytes of its content are there");
  Checksum checksum;
  checksum.add(label_lines);
  checksum.add(rest);
  if (rest.size() != size || checksum.text() != sum)
    refuse(path, "is damaged: its checksum does not match");
  return rest;
}

} // namespace labelled_file
} // namespace

void write_atomically(const std::filesystem::path& path, std::string_view content) {
  FileDraft draft(path.string());
  draft.write(content);
  draft.publish_to_disk();
}

std::optional<std::string> detail::whole_file(const std::filesystem::path& path) {
  fiber::detail::Classic<std::ifstream> in(path, std::ios::binary);
  if (!in) {
    if (!std::filesystem::exists(path))
      return {};
    throw std::runtime_error("cannot read " + path.string());
  }
  fiber::detail::Classic<std::ostringstream> content;
  content << in.rdbuf();
  return std::move(content).str();
}

std::string detail::labelled(const FileLabel& label, std::string_view content) {
  using namespace labelled_file;
  check_label(label);
  auto file = first_lines(label);
  Checksum checksum;
  checksum.add(file);
  checksum.add(content);
  file += std::string(content_key) + ": " + std::to_string(content.size()) + ' ' +
          checksum.text() + '\n';
  file += content;
  return file;
}

void detail::save_labelled(const std::filesystem::path& path, const FileLabel& label,
                           std::string_view content) {
  write_atomically(path, labelled(label, content));
}

// What an archive of Boost's begins with: its signature, the version of the library that
// wrote it, and the formats of numbers.
std::span<const std::byte> detail::after_archive_head(const std::filesystem::path& path,
                                                      std::string_view content) {
  fiber::detail::Classic<std::ostringstream> stream(std::ios::binary);
  { boost::archive::binary_oarchive own(stream); }
  const auto own = stream.view();
  const auto version_at =
    sizeof(std::uint64_t) +
    std::string_view(boost::archive::BOOST_ARCHIVE_SIGNATURE()).size();
  std::uint16_t version = 0;
  const auto rest_at = version_at + sizeof version;
  if (content.size() < own.size() ||
      content.substr(0, version_at) != own.substr(0, version_at) ||
      content.substr(rest_at, own.size() - rest_at) != own.substr(rest_at))
    throw std::runtime_error(path.string() +
                             " was written on a machine with other formats of numbers");
  content.copy(reinterpret_cast<char*>(&version), sizeof version, version_at);
  if (version > boost::archive::BOOST_ARCHIVE_VERSION())
    throw std::runtime_error(path.string() + " was written with a newer Boost");
  return std::as_bytes(std::span(content.substr(own.size())));
}

std::string detail::content_under(const std::filesystem::path& path,
                                  std::string_view file, const FileLabel& label) {
  using namespace labelled_file;
  auto rest = file;
  const auto first = take_line(rest);
  const auto start = label.kind + ' ';
  if (!first && (file.starts_with(start) || start.starts_with(file)))
    refuse(path, "is truncated: not even its first line is whole");
  const auto [kind, version] = split(first.value_or(""), " ");
  if (kind != label.kind)
    refuse(path, "is not a " + label.kind + " file");
  if (version != std::to_string(label.version))
    refuse(path, "has version " + std::string(version) + " of " + label.kind +
                   "; this program reads version " + std::to_string(label.version));
  std::map<std::string, std::string> settings;
  for (;;) {
    const auto position = file.size() - rest.size();
    const auto line = take_line(rest);
    if (!line)
      refuse(path, "is truncated: its label is not whole");
    const auto [key, value] = split(*line, ": ");
    if (key == content_key) {
      // Damage is told from other settings first.
      const auto content = checked_content(path, file.substr(0, position), value, rest);
      compare(path, settings, label.settings);
      return std::string(content);
    }
    settings.emplace(key, value);
  }
}

std::optional<std::string> detail::load_labelled(const std::filesystem::path& path,
                                                 const FileLabel& label) {
  const auto file = whole_file(path);
  return file ? std::optional(content_under(path, *file, label)) : std::nullopt;
}

std::string detail::setting_of(const std::filesystem::path& path, std::string_view key) {
  using namespace labelled_file;
  const auto file = whole_file(path);
  std::string_view rest = file ? std::string_view(*file) : std::string_view();
  while (const auto line = take_line(rest)) {
    const auto [name, value] = split(*line, ": ");
    if (name == content_key)
      break;
    if (name == key)
      return std::string(value);
  }
  return {};
}

} // namespace fiber::rl
