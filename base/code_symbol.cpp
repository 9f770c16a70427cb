// SPDX-License-Identifier: Apache-2.0
#include "base/code_symbol.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>

#include <memory>
#include <string_view>

#include "base/unique_fd.hpp"

namespace fiber {
namespace {

struct End {
  void operator()(Elf* elf) const { elf_end(elf); }
};

bool is_function(const GElf_Sym& symbol) {
  auto type = GELF_ST_TYPE(symbol.st_info);
  return type == STT_FUNC || type == STT_GNU_IFUNC;
}

} // namespace

std::string symbol_at(const std::string& path, std::uint64_t address) {
  // dladdr() finds exported names only.
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || elf_version(EV_CURRENT) == EV_NONE)
    return {};
  std::unique_ptr<Elf, End> elf(elf_begin(file.get(), ELF_C_READ_MMAP, nullptr));
  std::string_view name;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf.get(), section)) != nullptr) {
    GElf_Shdr table;
    if (gelf_getshdr(section, &table) == nullptr ||
        (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM))
      continue;
    auto* data = elf_getdata(section, nullptr);
    GElf_Sym symbol;
    for (int i = 0; gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      if (symbol.st_value != address || !is_function(symbol))
        continue;
      const char* its = elf_strptr(elf.get(), table.sh_link, symbol.st_name);
      if (its != nullptr && *its != '\0' && (name.empty() || its < name))
        name = its;
    }
  }
  return std::string(name);
}

} // namespace fiber
