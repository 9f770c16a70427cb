// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fiber::dashboard {

/// Decides who may look. Used on the page's thread only.
class Guard {
public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr double max_guesses = 5; ///< Wrong ones at once, from one address.
  static constexpr std::chrono::seconds guess_every{10};
  static constexpr std::size_t max_guessers = 1000; ///< Further ones share an account.

  enum class Verdict { admitted, no_token, wrong_token, too_many };

  /// `token`: empty if everybody may look who can connect. `own_names`: names of this
  /// machine, besides localhost.
  Guard(std::string token, std::vector<std::string> own_names);

  /// Returns whether a header Host may stand in a request. Any address may, but only our
  /// own names: a page of somebody else that has bound its own name to our address (DNS
  /// rebinding) is not served.
  bool serves(std::string_view host) const;
  /// Judges the token that a peer gives; empty: none. Compares in constant time, and
  /// limits the rate of wrong ones, for each address.
  Verdict judge(const std::string& address, std::string_view given, Time now);
  bool asks() const { return !token_.empty(); }

private:
  struct Account {
    double left = max_guesses;
    Time at;
  };
  Account& account(const std::string& address, Time now);

  const std::string token_;
  const std::vector<std::string> own_names_;
  std::map<std::string, Account> guessers_;
};

} // namespace fiber::dashboard
