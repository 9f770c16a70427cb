// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace fiber::wire {

/// A link could not be made: the address, the peer or the handshake refused it.
class WireError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Nobody answers at an address.
class Unreachable : public WireError {
public:
  using WireError::WireError;
};

/// The peer is of this session and runs another build.
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
