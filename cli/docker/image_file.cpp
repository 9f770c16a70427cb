// SPDX-License-Identifier: Apache-2.0
#include "cli/docker/image_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "fiber/error.hpp"

namespace fiber::cli::docker {
namespace {

constexpr int max_links = 40;
constexpr std::size_t block = 512;
constexpr std::size_t max_bytes = std::size_t{4} << 30; // Of one program.

/// The first entry of a tar archive that is a file or a link.
struct Entry {
  char type = '0';
  std::string link, bytes;
};

std::string field(std::string_view header, std::size_t at, std::size_t size) {
  auto text = header.substr(at, size);
  return std::string(text.substr(0, text.find('\0')));
}

std::size_t size_of(std::string_view header) {
  constexpr std::size_t at = 124, digits = 12;
  if (static_cast<unsigned char>(header[at]) >= 0x80) { // Binary, for large files.
    std::size_t size = 0;
    for (std::size_t i = at + 4; i < at + digits; ++i)
      size = size << 8 | static_cast<unsigned char>(header[i]);
    return size;
  }
  return std::strtoull(field(header, at, digits).c_str(), nullptr, 8);
}

Entry first_entry(std::string_view tar) {
  constexpr std::size_t type_at = 156, link_at = 157, link_size = 100;
  while (tar.size() >= block) {
    auto size = size_of(tar);
    char type = tar[type_at];
    auto body = tar.substr(block, size);
    if (type == '0' || type == '\0' || type == '2')
      return {
        .type = type, .link = field(tar, link_at, link_size), .bytes = std::string(body)};
    if (type != 'x' && type != 'g' && type != 'L' && type != 'K')
      return {.type = type, .link = {}, .bytes = {}}; // A folder or a device.
    tar.remove_prefix(std::min(tar.size(), block + (size + block - 1) / block * block));
  }
  return {.type = '?', .link = {}, .bytes = {}};
}

std::optional<std::string> read_file(Client& client, const std::string& container,
                                     std::filesystem::path path) {
  for (int links = 0; links < max_links; ++links) {
    std::string archive;
    auto take = [&](std::string_view piece) {
      archive += piece;
      return archive.size() <= max_bytes;
    };
    auto reply = client.receive("/containers/" + container + "/archive?path=" +
                                  backends::http::escape(path.string()),
                                take);
    if (reply.status == 404)
      return {};
    if (!reply.ok())
      throw Error("read " + path.string() +
                  " in the image: " + backends::docker::problem(reply));
    if (archive.size() > max_bytes)
      throw Error("read " + path.string() + " in the image: it is larger than 4 GiB");
    auto entry = first_entry(archive);
    if (entry.type != '2')
      return entry.bytes;
    path = (path.parent_path() / entry.link).lexically_normal();
  }
  throw Error("read " + path.string() + " in the image: too many symlinks");
}

} // namespace

std::optional<std::string> file_of_image(Client& client, const std::string& image,
                                         const std::string& path) {
  OwnedContainer container(client, {{"Image", image}, {"Entrypoint", {"/none"}}},
                           ""); // Is never started.
  if (path.find('/') != path.npos)
    return read_file(client, container.id(), path);
  for (auto* folder :
       {"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"})
    if (auto bytes =
          read_file(client, container.id(), std::filesystem::path(folder) / path))
      return bytes;
  return {};
}

} // namespace fiber::cli::docker
