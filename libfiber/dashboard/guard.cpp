// SPDX-License-Identifier: Apache-2.0
#include "libfiber/dashboard/guard.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include "base/ascii.hpp"
#include "base/hex.hpp"

namespace fiber::dashboard {
namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Digest digest(std::string_view text) {
  Digest made{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), made.data());
  return made;
}

/// Takes time that depends on neither text's content.
bool equal(std::string_view a, std::string_view b) {
  auto one = digest(a), other = digest(b);
  return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

/// Returns a MAC of `text` with a fresh key, as hexadecimal digits.
std::string mac_of(std::string_view text) {
  Digest key{}, mac{};
  if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1)
    throw std::runtime_error("no random bytes for the cookie of the page");
  unsigned int size = mac.size();
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(),
       &size);
  return fiber::hex({reinterpret_cast<const char*>(mac.data()), mac.size()});
}

/// Returns HOST of HOST:PORT; empty if it is neither that nor HOST.
std::string host_of(std::string_view text) {
  auto colon = text.starts_with('[') ? text.find(':', text.find(']')) : text.find(':');
  auto host = text.substr(0, colon);
  auto port = colon == text.npos ? std::string_view() : text.substr(colon + 1);
  if (!std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }))
    return {};
  return ascii::lower(host);
}

bool is_address(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (host.starts_with('[') && host.ends_with(']'))
    return inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6) == 1;
  return inet_pton(AF_INET, host.c_str(), &v4) == 1;
}

} // namespace

Guard::Guard(std::string token, std::vector<std::string> own_names)
  : token_(std::move(token)), cookie_(mac_of(token_)), own_names_([&] {
      for (auto& name : own_names)
        name = ascii::lower(name);
      return std::move(own_names);
    }()) {}

bool Guard::serves(std::string_view host) const {
  auto name = host_of(host);
  return name == "localhost" || is_address(name) ||
         (!name.empty() && std::ranges::find(own_names_, name) != own_names_.end());
}

Guard::Account& Guard::account(const std::string& address, Time now) {
  auto refill = [&](Account& one) {
    auto passed = std::chrono::duration<double>(now - one.at) / guess_every;
    one.left = std::min(max_guesses, one.left + passed);
    one.at = now;
  };
  auto found = guessers_.find(address);
  if (found == guessers_.end() && guessers_.size() >= max_guessers) {
    for (auto& [other, each] : guessers_)
      refill(each);
    std::erase_if(guessers_, [](auto& each) { return each.second.left >= max_guesses; });
  }
  if (found == guessers_.end())
    found = guessers_
              .try_emplace(guessers_.size() < max_guessers ? address : std::string(),
                           Account{max_guesses, now})
              .first;
  refill(found->second);
  return found->second;
}

void Guard::listens_at(std::uint16_t port) {
  cookie_name_ = "fiber_dashboard_" + std::to_string(port);
}

Guard::Verdict Guard::judge(const std::string& address, const Shown& shown, Time now) {
  if (token_.empty())
    return Verdict::admitted;
  // A wrong cookie is no guess: it may be of an earlier session at this port.
  if (shown.token.empty())
    return equal(shown.cookie, cookie_) ? Verdict::admitted : Verdict::no_token;
  auto right = equal(shown.token, token_);
  auto known = guessers_.find(address);
  if (right && known == guessers_.end())
    return Verdict::admitted;
  auto& guesser = account(address, now);
  // The right one is refused too, or the limit would not slow a guesser down.
  if (guesser.left < 1)
    return Verdict::too_many;
  if (right)
    return Verdict::admitted;
  guesser.left -= 1;
  return Verdict::wrong_token;
}

} // namespace fiber::dashboard
