// SPDX-License-Identifier: Apache-2.0
// The bytes should be the output of a job that crashed.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "actors/crash/crash_report.hpp"
#include "backends/output/crash_line.hpp"
#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fiber::actors;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto report = CrashReport::parse(text)) {
    static_cast<void>(report->detail());
    ++fiber::fuzz::taken;
    if (report->frames.size() > max_crash_frames)
      std::abort();
  }
  const auto last = read_last_output(text);
  if (last.lines.size() > max_last_bytes)
    std::abort();
  fiber::fuzz::taken += last.crash.has_value();
  return 0;
}

std::vector<std::string> fiber::fuzz::seeds() {
  const std::string whole = "signal=11 address=0 sp=7ffc0010 slot=2 seq=41 uncaught= "
                            "objects=ab01:,:libx%20y.so frames=0+1f,1+20,-+30 end";
  const std::string thrown =
    "signal=6 address=- sp=7ffc0010 slot=- seq=0 uncaught=std%3a%3abad_alloc objects= "
    "frames= end";
  const auto line = std::string(backends::crash_mark) + whole + "\n";
  return {whole, thrown, line,
          "some output\nwithout a newline " + line + "more\n" + line};
}
