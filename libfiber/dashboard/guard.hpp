// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fiber::dashboard {

/// What a request shows to be admitted. Empty: nothing.
struct Shown {
  std::string token;  ///< From the address or the header Authorization.
  std::string cookie; ///< The value of Guard::cookie_name().
};

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
  /// Judges what a peer shows. Compares in constant time, and limits the rate of wrong
  /// tokens, for each address.
  Verdict judge(const std::string& address, const Shown& shown, Time now);
  bool asks() const { return !token_.empty(); }

  /// Browsers send a cookie to all ports of a host. So the name has the port in it, and
  /// the value, which is of this session only, does not give the token away.
  void listens_at(std::uint16_t port);
  const std::string& cookie_name() const { return cookie_name_; }
  const std::string& cookie() const { return cookie_; }

private:
  struct Account {
    double left = max_guesses;
    Time at;
  };
  Account& account(const std::string& address, Time now);

  const std::string token_;
  const std::string cookie_; ///< A MAC of the token, with a key of this object.
  std::string cookie_name_ = "fiber_dashboard";
  const std::vector<std::string> own_names_;
  std::map<std::string, Account> guessers_;
};

} // namespace fiber::dashboard
