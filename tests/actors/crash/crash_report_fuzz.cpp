// SPDX-License-Identifier: Apache-2.0
// The bytes should be the output of a job that crashed.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "actors/crash/crash_report.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fiber::actors;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto report = CrashReport::parse(text)) {
    static_cast<void>(report->detail());
    if (report->frames.size() > most_crash_frames)
      std::abort();
  }
  if (read_last_output(text).lines.size() > most_last_bytes)
    std::abort();
  return 0;
}
