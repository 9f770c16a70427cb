// SPDX-License-Identifier: Apache-2.0
// The bytes should be records of a journal. What is no record is skipped, and the reader
// comes to the end.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libfiber/storage/record.hpp"
#include "tests/fuzz/target.hpp"

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
  std::size_t records = 0;
  for (std::uint64_t end = 0; const auto record = reader.next(); end = reader.end()) {
    ++records;
    if (record->offset < end || reader.end() > file.size() ||
        record->head.size > file.size())
      std::abort();
  }
  fiber::fuzz::taken += records > 0;
  return 0;
}

std::vector<std::string> fiber::fuzz::seeds() {
  std::vector<std::string> all;
  std::string file;
  for (const std::string_view result : {"", "a result", "another, longer result"}) {
    const auto bytes = std::as_bytes(std::span(result));
    const auto head = detail::RecordHead::of(0, all.size(), {}, bytes);
    all.emplace_back(reinterpret_cast<const char*>(&head), sizeof head);
    all.back() += result;
    file += all.back();
  }
  all.push_back(file);
  all.push_back("damaged" + file);
  return all;
}
