// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace fiber::wire {

/// A link could not be made, because of the address, the peer or the handshake.
class WireError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// No listener answers at the address.
class Unreachable : public WireError {
public:
  using WireError::WireError;
};

/// The peer belongs to this session but runs another build.
class OtherBuild : public WireError {
public:
  using WireError::WireError;
};

/// OpenSSL refused a key, a certificate or a handshake.
class TlsError : public WireError {
public:
  using WireError::WireError;
};

} // namespace fiber::wire
