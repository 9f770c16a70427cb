// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

#include <sys/resource.h>

namespace fiber::e2e {

/// How the members of a ring are to exchange arrays. An argument of the ring's function:
/// a job unpacks it before it joins the ring.
struct RingWay {
  std::uint8_t gloo = 0; ///< 1: by Gloo, as members that can't share memory do.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& gloo;
    if constexpr (Archive::is_loading::value)
      if (gloo != 0)
        limit_files(0); // So rank 0 can't make memory for the ring.
  }

  /// To be called by the function. Throws if the ring goes the other way.
  void check() const {
    if (gloo != 0)
      limit_files(RLIM_INFINITY);
    std::ifstream maps("/proc/self/maps");
    std::string all{std::istreambuf_iterator<char>(maps), {}};
    if ((all.find("memfd:fiber-ring") == std::string::npos) != (gloo != 0))
      throw std::logic_error(gloo != 0 ? "the ring has memory"
                                       : "the ring has no memory");
  }

private:
  static void limit_files(rlim_t bytes) {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
};

} // namespace fiber::e2e
