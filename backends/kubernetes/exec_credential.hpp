// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace fiber::backends::kubernetes {

/// What an exec plugin answered: a token, or a certificate and its key, or all three.
struct ExecCredential {
  std::string token;
  std::string client_cert_pem, client_key_pem;
  std::optional<std::chrono::sys_seconds> expires; ///< To the second: 9999 is far.
};

/// An answer that is of no use. what() says why, and holds nothing of the answer's
/// secrets.
class BadCredential : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Reads an answer, which must be of this apiVersion. Throws BadCredential.
ExecCredential parse_exec_credential(const std::string& text,
                                     const std::string& api_version);

/// Reads "2026-01-31T12:00:00Z", with fraction and offset as RFC 3339 has them.
std::optional<std::chrono::sys_seconds> parse_timestamp(const std::string& text);

} // namespace fiber::backends::kubernetes
