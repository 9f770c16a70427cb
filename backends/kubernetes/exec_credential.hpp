// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace fiber::backends::kubernetes {

/// An exec plugin's answer: a token, or a certificate and its key, or all three.
struct ExecCredential {
  std::string token;
  std::string client_cert_pem, client_key_pem;
  /// In seconds, which reach the year 9999.
  std::optional<std::chrono::sys_seconds> expires;
};

/// An unusable answer. what() gives the reason and contains none of the answer's secrets.
class BadCredential : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Parses an answer, which must have this apiVersion. Throws BadCredential.
ExecCredential parse_exec_credential(const std::string& text,
                                     const std::string& api_version);

/// Parses an RFC 3339 time such as "2026-01-31T12:00:00Z", with fraction and offset.
std::optional<std::chrono::sys_seconds> parse_timestamp(const std::string& text);

} // namespace fiber::backends::kubernetes
