// SPDX-License-Identifier: Apache-2.0
#include "base/random_id.hpp"

#include <cerrno>
#include <random>
#include <system_error>

#include <unistd.h>

namespace fiber {

std::string random_id() {
  constexpr int digits = 12;
  std::random_device random;
  std::string id;
  for (int i = 0; i < digits; ++i)
    id += "0123456789abcdef"[random() % 16];
  return id;
}

std::uint64_t secret_number() {
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof number) != 0)
    throw std::system_error(errno, std::generic_category(), "no random numbers");
  return number;
}

} // namespace fiber
