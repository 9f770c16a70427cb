// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "fiber/bytes.hpp"

namespace fiber::wire {

/// A certificate of one session with its key, and the session's CA certificate to check
/// peers with. Lives in memory only.
class Identity {
public:
  /// For the channel that the backend offers to its job; holds a private key, so never on
  /// a command line, in an environment or in a log.
  Bytes pack() const;
  /// Throws fiber::wire::TlsError on bytes that pack() did not make.
  static Identity unpack(const Bytes& bytes);

  class Impl;
  explicit Identity(std::shared_ptr<const Impl> impl);
  const Impl& impl() const { return *impl_; }

private:
  std::shared_ptr<const Impl> impl_;
};

/// The certificate authority that each session makes for itself.
class SessionCa {
public:
  /// Makes a key (P-256) and a self-signed certificate.
  SessionCa();
  ~SessionCa();
  /// A new key and certificate for `name` ("driver", a job's id), valid for this session.
  Identity issue(const std::string& name) const;

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::wire
