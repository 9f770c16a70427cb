// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/unique_fd.hpp"

namespace fiber::dashboard {

/// A setting of the page that can't be used: its key, and what is wrong with it.
class SettingProblem : public std::runtime_error {
public:
  SettingProblem(std::string key, const std::string& problem)
    : std::runtime_error(problem), key_(std::move(key)) {}
  const std::string& key() const { return key_; }

private:
  std::string key_;
};

/// A socket that listens.
struct Listening {
  UniqueFd socket;
  bool v6 = false;
  bool loopback = false; ///< Only this machine can reach it.
  std::uint16_t port = 0;
  std::string address; ///< Numeric, with brackets if it is of IPv6: "127.0.0.1:8080".
};

/// Listens at an address of this machine; port 0 is any free one. Throws SettingProblem
/// with the reason.
Listening listen_at(const std::string& host, std::uint16_t port);

} // namespace fiber::dashboard
