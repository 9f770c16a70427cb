// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/program_file.hpp"

#include <fcntl.h>
#include <link.h>
#include <openssl/evp.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

#include "backends/engine/errors.hpp"
#include "backends/engine/program.hpp"
#include "base/code_place.hpp"
#include "base/hex.hpp"
#include "base/unique_fd.hpp"

namespace fiber::backends::ssh {

namespace {

/// Returns the file's name if a shell needs no quotes for it.
std::string plain_name(const std::string& path) {
  constexpr auto plain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  auto name = std::filesystem::path(path).filename().string();
  const bool odd =
    name.empty() || name.front() == '-' || name.find_first_not_of(plain) != name.npos;
  return odd ? "program" : name;
}

} // namespace

ProgramFile::ProgramFile(const std::string& directory) {
  try {
    remote_ = {.directory = directory,
               .build = build_id(),
               .name = plain_name(program_path()),
               .path = program_path()};
  } catch (const Error& error) {
    throw EngineError("copy this program to hosts", 0, error.what());
  }
}

std::string ProgramFile::sha256() const {
  std::lock_guard lock(mutex_);
  if (!sha256_)
    sha256_ = sha256_of(path());
  return *sha256_;
}

std::string sha256_of(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    throw engine_error("read " + path, errno);
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> digest(EVP_MD_CTX_new(),
                                                            EVP_MD_CTX_free);
  std::vector<unsigned char> piece(1 << 18);
  bool fine = digest && EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) == 1;
  while (fine) {
    const auto got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno != EINTR)
      throw engine_error("read " + path, errno);
    if (got == 0)
      break;
    fine = got < 0 || EVP_DigestUpdate(digest.get(), piece.data(),
                                       static_cast<std::size_t>(got)) == 1;
  }
  std::vector<unsigned char> sum(EVP_MAX_MD_SIZE);
  unsigned size = 0;
  if (!fine || EVP_DigestFinal_ex(digest.get(), sum.data(), &size) != 1)
    throw EngineError("compute the SHA-256 of " + path, 0, "OpenSSL can't do that");
  sum.resize(size);
  return hex({reinterpret_cast<const char*>(sum.data()), sum.size()});
}

std::map<std::string, std::string> loaded_libraries() {
  std::map<std::string, std::string> libraries;
  ::dl_iterate_phdr(
    [](dl_phdr_info* object, std::size_t, void* found) {
      const std::string path = object->dlpi_name ? object->dlpi_name : "";
      if (path.starts_with('/'))
        static_cast<decltype(libraries)*>(found)->emplace(
          path.substr(path.rfind('/') + 1), path);
      return 0;
    },
    &libraries);
  return libraries;
}

std::string machine() {
  utsname system{};
  return ::uname(&system) == 0 ? system.machine : "";
}

} // namespace fiber::backends::ssh
