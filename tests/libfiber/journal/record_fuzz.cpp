// SPDX-License-Identifier: Apache-2.0
// The bytes should be records of a journal. What is no record is skipped, and the reader
// comes to the end.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "libfiber/storage/record.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fiber::detail;
  const auto file = std::as_bytes(std::span(data, size));
  constexpr std::uint32_t salt = 0;
  const auto read = [&](std::uint64_t offset, std::span<std::byte> to) {
    const auto n =
      offset < file.size() ? std::min(to.size(), file.size() - offset) : std::size_t{0};
    if (n > 0)
      std::memcpy(to.data(), file.data() + offset, n);
    return n;
  };
  JournalReader reader(read, salt, 0, file.size());
  for (std::uint64_t end = 0; const auto record = reader.next(); end = reader.end())
    if (record->offset < end || reader.end() > file.size() ||
        record->head.size > file.size())
      std::abort();
  return 0;
}
