// SPDX-License-Identifier: Apache-2.0
#include "wire/certificates.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <span>
#include <utility>

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "wire/error.hpp"
#include "wire/openssl.hpp"

/// Null unless the program is built with LeakSanitizer.
// NOLINTNEXTLINE(bugprone-reserved-identifier): it has this name.
extern "C" __attribute__((weak)) void __lsan_register_root_region(const void*,
                                                                  std::size_t);

namespace fiber::wire {
namespace {

constexpr std::string_view magic = "fiber-identity-1";

/// Throws TlsError with OpenSSL's reason unless `good`.
void require(bool good, const char* what) {
  if (!good)
    throw TlsError(std::string(what) + ": " + openssl_error());
}

/// Keeps private keys out of core dumps and, where the limit allows, of swap.
void protect_keys() {
  constexpr std::size_t room = 256 * 1024, least = 32;
  static std::once_flag once;
  std::call_once(once, [] {
    // A session in a static object may end after OpenSSL's exit handler.
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
    if (CRYPTO_secure_malloc_init(room, least) == 0 || !__lsan_register_root_region)
      return;
    // OpenSSL keeps pointers in this heap, where LeakSanitizer does not look by itself.
    auto* all = OPENSSL_secure_malloc(room);
    if (all != nullptr)
      __lsan_register_root_region(all, room);
    OPENSSL_secure_free(all);
  });
}

KeyPtr make_key() {
  protect_keys();
  KeyPtr key(EVP_EC_gen("P-256"));
  require(key != nullptr, "cannot make a key");
  return key;
}

void add_extension(X509* cert, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, OpensslDelete<X509_EXTENSION_free>> extension(
    X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
  require(extension && X509_add_ext(cert, extension.get(), -1) == 1,
          "cannot add to a certificate");
}

/// Returns a certificate without extensions and signature. Its dates are never checked.
CertPtr blank_cert(const std::string& name, EVP_PKEY* key) {
  CertPtr cert(X509_new());
  require(cert != nullptr, "cannot make a certificate");
  std::array<unsigned char, 16> serial;
  require(RAND_bytes(serial.data(), serial.size()) == 1, "no random numbers");
  serial[0] = (serial[0] & 0x7f) | 0x40; // Makes it positive and of full length.
  const std::unique_ptr<BIGNUM, OpensslDelete<BN_free>> number(
    BN_bin2bn(serial.data(), serial.size(), nullptr));
  auto* subject = X509_get_subject_name(cert.get());
  const auto* text = reinterpret_cast<const unsigned char*>(name.data());
  const bool good = number && X509_set_version(cert.get(), X509_VERSION_3) == 1 &&
                    BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(cert.get())) &&
                    X509_gmtime_adj(X509_getm_notBefore(cert.get()), 0) &&
                    X509_time_adj_ex(X509_getm_notAfter(cert.get()), 3650, 0, nullptr) &&
                    X509_set_pubkey(cert.get(), key) == 1 &&
                    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, text,
                                               static_cast<int>(name.size()), -1, 0) == 1;
  require(good, "cannot make a certificate");
  return cert;
}

void sign(X509* cert, X509* issuer, EVP_PKEY* key) {
  require(X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1 &&
            X509_sign(cert, key, EVP_sha256()) > 0,
          "cannot sign a certificate");
}

SslContextPtr make_context(X509* cert, EVP_PKEY* key, X509* ca) {
  SslContextPtr made(SSL_CTX_new(TLS_method()));
  auto* context = made.get();
  require(context && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
            SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
            SSL_CTX_set_ciphersuites(context,
                                     "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
                                     "TLS_CHACHA20_POLY1305_SHA256") == 1 &&
            SSL_CTX_use_certificate(context, cert) == 1 &&
            SSL_CTX_use_PrivateKey(context, key) == 1 &&
            X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca) == 1 &&
            SSL_CTX_set_num_tickets(context, 0) == 1,
          "cannot set up TLS");
  // Clocks of machines may be wrong, and the session's keys end with its processes.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_NO_CHECK_TIME);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return made;
}

void append(Bytes& out, std::span<const unsigned char> bytes) {
  for (int shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<std::byte>(bytes.size() >> shift));
  const auto data = std::as_bytes(bytes);
  out.insert(out.end(), data.begin(), data.end());
}

/// Appends `object` as i2d_X509 or i2d_PrivateKey writes it.
template <class T>
void append_der(Bytes& out, int (*write)(const T*, unsigned char**), const T* object) {
  unsigned char* data = nullptr;
  const auto size = write(object, &data);
  require(size > 0, "cannot pack an identity");
  append(out, {data, static_cast<std::size_t>(size)});
  OPENSSL_clear_free(data, static_cast<std::size_t>(size));
}

/// Removes and returns the first part of `in`.
std::span<const unsigned char> take(std::span<const std::byte>& in) {
  std::size_t size = 0;
  if (in.size() >= 4)
    for (std::size_t i = 0; i < 4; ++i)
      size |= std::to_integer<std::size_t>(in[i]) << (8 * i);
  if (in.size() < 4 || in.size() - 4 < size)
    throw TlsError("not a packed identity: cut short");
  const auto part = in.subspan(4, size);
  in = in.subspan(4 + size);
  return {reinterpret_cast<const unsigned char*>(part.data()), part.size()};
}

CertPtr take_cert(std::span<const std::byte>& in) {
  const auto part = take(in);
  const auto* data = part.data();
  CertPtr cert(d2i_X509(nullptr, &data, static_cast<long>(part.size())));
  require(cert != nullptr, "not a packed identity");
  return cert;
}

} // namespace

std::string openssl_error() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  if (code == 0)
    return "unknown reason";
  const char* reason = ERR_reason_error_string(code);
  return reason ? reason : "error " + std::to_string(code);
}

Identity::Impl::Impl(KeyPtr own_key, CertPtr own_cert, CertPtr ca_cert)
  : key(std::move(own_key)), cert(std::move(own_cert)), ca(std::move(ca_cert)) {}

SSL_CTX* Identity::Impl::context() const {
  std::call_once(once_,
                 [this] { context_ = make_context(cert.get(), key.get(), ca.get()); });
  return context_.get();
}

Identity::Identity(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Bytes Identity::pack() const {
  Bytes out;
  out.reserve(4096); // Prevents reallocation, which would leave a copy of the key behind.
  append(out, {reinterpret_cast<const unsigned char*>(magic.data()), magic.size()});
  append_der<X509>(out, i2d_X509, impl_->ca.get());
  append_der<X509>(out, i2d_X509, impl_->cert.get());
  append_der<EVP_PKEY>(out, i2d_PrivateKey, impl_->key.get());
  return out;
}

Identity Identity::unpack(Bytes bytes) {
  protect_keys();
  struct Wipe {
    Bytes& bytes;
    ~Wipe() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
  } wipe{bytes};
  std::span<const std::byte> in = bytes;
  const auto word = take(in);
  if (word.size() != magic.size() ||
      std::memcmp(word.data(), magic.data(), word.size()) != 0)
    throw TlsError("not a packed identity");
  auto ca = take_cert(in);
  auto cert = take_cert(in);
  const auto part = take(in);
  const auto* data = part.data();
  // Five times as fast as d2i_AutoPrivateKey, which tries all kinds of keys.
  KeyPtr key(d2i_PrivateKey(EVP_PKEY_EC, nullptr, &data, static_cast<long>(part.size())));
  require(key && in.empty() && X509_check_private_key(cert.get(), key.get()) == 1 &&
            X509_verify(cert.get(), X509_get0_pubkey(ca.get())) == 1,
          "not a packed identity");
  return Identity(std::make_shared<Impl>(std::move(key), std::move(cert), std::move(ca)));
}

class SessionCa::Impl {
public:
  KeyPtr key = make_key();
  CertPtr cert;
};

SessionCa::SessionCa() : impl_(std::make_unique<Impl>()) {
  // Gives each session its own subject, which its leaf certificates name as issuer.
  std::uint64_t random = 0;
  require(RAND_bytes(reinterpret_cast<unsigned char*>(&random), sizeof random) == 1,
          "no random numbers");
  impl_->cert = blank_cert("fiber session " + std::to_string(random), impl_->key.get());
  auto* cert = impl_->cert.get();
  add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(cert, cert, NID_key_usage, "critical,keyCertSign");
  add_extension(cert, cert, NID_subject_key_identifier, "hash");
  sign(cert, cert, impl_->key.get());
}

SessionCa::~SessionCa() = default;

std::string certificate_name(std::uint64_t incarnation) {
  return incarnation == 0 ? "driver" : "job-" + std::to_string(incarnation);
}

Identity SessionCa::issue(std::uint64_t incarnation) const {
  auto key = make_key();
  auto cert = blank_cert(certificate_name(incarnation), key.get());
  auto* issuer = impl_->cert.get();
  add_extension(cert.get(), issuer, NID_basic_constraints, "critical,CA:FALSE");
  add_extension(cert.get(), issuer, NID_key_usage, "critical,digitalSignature");
  // Jobs listen too, for direct links. That they cannot pose as the driver follows from
  // the name in the certificate, which whoever dials checks.
  add_extension(cert.get(), issuer, NID_ext_key_usage, "serverAuth,clientAuth");
  add_extension(cert.get(), issuer, NID_authority_key_identifier, "keyid");
  sign(cert.get(), issuer, impl_->key.get());
  CertPtr ca(X509_dup(issuer));
  require(ca != nullptr, "cannot copy a certificate");
  return Identity(
    std::make_shared<Identity::Impl>(std::move(key), std::move(cert), std::move(ca)));
}

} // namespace fiber::wire
