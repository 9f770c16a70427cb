// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {

/// What holds on every way of running jobs is tested on each of them.
struct Mode {
  const char* name;
  Config config;
};
/// For the lists of ctest, which would show its bytes.
inline void PrintTo(const Mode& mode, std::ostream* out) {
  *out << mode.name;
}

inline std::vector<Mode> modes() {
  return {{"local", {}},
          {"plain_spawn", {.zygote = "never"}},
          {"tls", {.link = "tls"}},
          {"in_process", {.backend = "inline"}}};
}

/// Those with jobs.
inline std::vector<Mode> job_modes() {
  auto all = modes();
  std::erase_if(all, [](auto& mode) { return mode.config.backend == "inline"; });
  return all;
}

class EveryMode : public SessionTest, public testing::WithParamInterface<Mode> {
protected:
  void SetUp() override {
    auto config = GetParam().config;
    if (!config.backend)
      config.backend = "local";
    open(config);
  }
  bool in_process() const { return GetParam().config.backend == "inline"; }
};

/// Names the parameter in the name of a test.
inline std::string mode_name(const testing::TestParamInfo<Mode>& info) {
  return info.param.name;
}

} // namespace fiber::e2e
