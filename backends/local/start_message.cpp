// SPDX-License-Identifier: Apache-2.0
#include "backends/local/start_message.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "backends/engine/errors.hpp"

namespace fiber::backends::local {

namespace {

// Layout: sizes, then NUL-terminated names and values, the boot bytes, the keys, the
// cores, the driver's address.
struct Sizes {
  std::uint64_t environment = 0, boot = 0, keys = 0, page = 0, descriptors = 0,
                memory_mb = 0, cores = 0, driver = 0;
};

void write_all(int fd, const void* data, std::size_t size) {
  for (auto* at = static_cast<const char*>(data); size > 0;) {
    ssize_t written = ::write(fd, at, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      throw engine_error("write start message", errno);
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

void read_all(int fd, void* data, std::size_t size, std::size_t offset) {
  for (auto* at = static_cast<char*>(data); size > 0;) {
    ssize_t got = ::pread(fd, at, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      throw engine_error("read start message", got < 0 ? errno : EBADMSG);
    at += got;
    offset += static_cast<std::size_t>(got);
    size -= static_cast<std::size_t>(got);
  }
}

std::string take_word(std::string_view& rest) {
  auto end = rest.find('\0');
  if (end == rest.npos)
    throw engine_error("read start message", EBADMSG);
  std::string word(rest.substr(0, end));
  rest.remove_prefix(end + 1);
  return word;
}

} // namespace

UniqueFd write_start(const JobSpec& spec, std::uint64_t descriptors,
                     const std::vector<int>& cores) {
  UniqueFd fd(::memfd_create("fiber-start", MFD_CLOEXEC));
  if (!fd)
    throw engine_error("make start message", errno);
  std::string words;
  for (auto& [name, value] : spec.environment)
    words.append(name).append(1, '\0').append(value).append(1, '\0');
  Sizes sizes{words.size(),
              spec.boot.size(),
              spec.keys.size(),
              spec.page_bytes,
              descriptors,
              spec.resources.memory_mb,
              cores.size() * sizeof(int),
              spec.driver.size()};
  write_all(fd.get(), &sizes, sizeof sizes);
  write_all(fd.get(), words.data(), words.size());
  write_all(fd.get(), spec.boot.data(), spec.boot.size());
  write_all(fd.get(), spec.keys.data(), spec.keys.size());
  write_all(fd.get(), cores.data(), sizes.cores);
  write_all(fd.get(), spec.driver.data(), spec.driver.size());
  return fd;
}

Start read_start(UniqueFd fd) {
  Sizes sizes;
  struct stat file {};
  if (::fstat(fd.get(), &file) != 0)
    throw engine_error("read start message", errno);
  read_all(fd.get(), &sizes, sizeof sizes, 0);
  auto size = static_cast<std::uint64_t>(file.st_size);
  if (sizes.environment > size || sizes.boot > size || sizes.keys > size ||
      sizes.cores > size || sizes.driver > size ||
      sizeof sizes + sizes.environment + sizes.boot + sizes.keys + sizes.cores +
          sizes.driver !=
        size)
    throw engine_error("read start message", EBADMSG);
  Start start;
  std::string words(sizes.environment, '\0');
  read_all(fd.get(), words.data(), words.size(), sizeof sizes);
  for (std::string_view rest = words; !rest.empty();) {
    std::string name = take_word(rest);
    start.environment[name] = take_word(rest);
  }
  start.page_bytes = sizes.page;
  start.descriptors = sizes.descriptors;
  start.memory_mb = sizes.memory_mb;
  start.boot.resize(sizes.boot);
  auto at = sizeof sizes + words.size();
  read_all(fd.get(), start.boot.data(), start.boot.size(), at);
  at += start.boot.size();
  start.keys.resize(sizes.keys);
  read_all(fd.get(), start.keys.data(), start.keys.size(), at);
  at += start.keys.size();
  start.cores.resize(sizes.cores / sizeof(int));
  read_all(fd.get(), start.cores.data(), sizes.cores, at);
  at += sizes.cores;
  start.driver.resize(sizes.driver);
  read_all(fd.get(), start.driver.data(), start.driver.size(), at);
  return start;
}

} // namespace fiber::backends::local
