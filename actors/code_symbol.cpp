// SPDX-License-Identifier: Apache-2.0
#include "actors/code_symbol.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "wire/unique_fd.hpp"

namespace fiber::actors {
namespace {

/// A file, mapped. dladdr() would know exported names only.
class Image {
public:
  explicit Image(const std::string& path) {
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || status.st_size <= 0)
      return;
    auto size = static_cast<std::size_t>(status.st_size);
    auto* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at != MAP_FAILED)
      bytes_ = {static_cast<const std::byte*>(at), size};
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image() {
    if (!bytes_.empty())
      ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  /// The `i`-th T of those that begin at `offset`, if the file has it.
  template <class T>
  std::optional<T> get(std::uint64_t offset, std::uint64_t i = 0) const {
    if (offset > bytes_.size() || i >= (bytes_.size() - offset) / sizeof(T))
      return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset + i * sizeof(T), sizeof(T));
    return value;
  }
  /// Up to a zero.
  std::string_view text(std::uint64_t offset) const {
    if (offset >= bytes_.size())
      return {};
    auto* first = reinterpret_cast<const char*>(bytes_.data() + offset);
    return {first, ::strnlen(first, bytes_.size() - offset)};
  }

private:
  std::span<const std::byte> bytes_;
};

} // namespace

std::string symbol_at(const std::string& path, std::uint64_t address) {
  Image image(path);
  auto head = image.get<ElfW(Ehdr)>(0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
    return {};
  std::string_view name;
  for (std::uint64_t i = 0; i < head->e_shnum; ++i) {
    auto table = image.get<ElfW(Shdr)>(head->e_shoff, i);
    if (!table || (table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM))
      continue;
    auto strings = image.get<ElfW(Shdr)>(head->e_shoff, table->sh_link);
    for (std::uint64_t k = 0; strings && k < table->sh_size / sizeof(ElfW(Sym)); ++k) {
      auto symbol = image.get<ElfW(Sym)>(table->sh_offset, k);
      if (!symbol)
        break;
      auto type = symbol->st_info & 0xf; // ELF64_ST_TYPE, ELF32_ST_TYPE
      if (symbol->st_value != address || (type != STT_FUNC && type != STT_GNU_IFUNC))
        continue;
      auto its = image.text(strings->sh_offset + symbol->st_name);
      if (!its.empty() && (name.empty() || its < name))
        name = its;
    }
  }
  return std::string(name);
}

} // namespace fiber::actors
