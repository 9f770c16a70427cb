// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "fiber/bytes.hpp"

namespace fiber::wire {

/// A certificate of one process of a session with its key, and the session's CA
/// certificate, by which peers are verified. The certificate names the incarnation of the
/// process, so that no other process can pose as it. Lives in memory only.
class Identity {
public:
  /// Packs the identity for the backend's private channel to its job. It holds a private
  /// key, so never put it on a command line, into an environment or into a log.
  Bytes pack() const;
  /// Wipes the bytes afterwards. Throws TlsError on bytes that pack() did not make.
  static Identity unpack(Bytes bytes);

  class Impl;
  explicit Identity(std::shared_ptr<const Impl> impl);
  const Impl& impl() const { return *impl_; }

private:
  std::shared_ptr<const Impl> impl_;
};

/// Returns the name in the certificate of an incarnation: "driver" for 0, "job-7" for 7.
std::string certificate_name(std::uint64_t incarnation);

/// The certificate authority of a session.
class SessionCa {
public:
  /// Creates a key (P-256) and a self-signed certificate.
  SessionCa();
  ~SessionCa();
  /// Returns a new key and certificate for a job's incarnation; 0: for the driver.
  Identity issue(std::uint64_t incarnation) const;

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::wire
