// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "wire/certificates.hpp"

namespace fiber::wire {

template <auto Free>
struct OpensslDelete {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslDelete<EVP_PKEY_free>>;
using CertPtr = std::unique_ptr<X509, OpensslDelete<X509_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, OpensslDelete<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, OpensslDelete<SSL_free>>;

/// The keys of an Identity, and the TLS settings that all its links share.
class Identity::Impl {
public:
  Impl(KeyPtr own_key, CertPtr own_cert, CertPtr ca_cert);
  /// Returns the settings. They are made by the first call, because the driver only packs
  /// the identities of its jobs. Throws TlsError.
  SSL_CTX* context() const;

  KeyPtr key;
  CertPtr cert, ca;

private:
  mutable std::once_flag once_;
  mutable SslContextPtr context_;
};

/// Returns OpenSSL's text for the last failure on this thread and clears its error queue.
std::string openssl_error();

} // namespace fiber::wire
