// SPDX-License-Identifier: Apache-2.0
#include "wire/tls_transport.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <openssl/err.h>
#include <openssl/sslerr.h>

#include "wire/error.hpp"

namespace fiber::wire {
namespace {

constexpr std::size_t record_bytes = 16 * 1024;
constexpr std::size_t in_bytes = 128 * 1024;
constexpr std::size_t out_bytes = 128 * 1024; ///< Limit on encrypted bytes not yet sent.

} // namespace

/// The buffers between OpenSSL and the socket.
class TlsTransport::Memory {
public:
  // make_unique would clear the memory.
  std::unique_ptr<std::byte[]> in{new std::byte[in_bytes]};
  std::size_t begin = 0, end = 0;
  Bytes out;

  static BIO* make_bio(Memory& memory) {
    BIO* bio = BIO_new(method());
    if (!bio)
      throw TlsError("cannot set up TLS: " + openssl_error());
    BIO_set_data(bio, &memory);
    BIO_set_init(bio, 1);
    return bio;
  }

private:
  static Memory& of(BIO* bio) { return *static_cast<Memory*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* to, int size) {
    auto& self = of(bio);
    BIO_clear_retry_flags(bio);
    const auto count = std::min(static_cast<std::size_t>(size), self.end - self.begin);
    if (count == 0) {
      BIO_set_retry_read(bio);
      return -1;
    }
    std::memcpy(to, self.in.get() + self.begin, count);
    self.begin += count;
    return static_cast<int>(count);
  }

  static int write(BIO* bio, const char* from, int size) {
    const auto bytes = std::as_bytes(std::span(from, static_cast<std::size_t>(size)));
    BIO_clear_retry_flags(bio);
    of(bio).out.insert(of(bio).out.end(), bytes.begin(), bytes.end());
    return size;
  }

  static long control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH;
  }

  static const BIO_METHOD* method() { // Never freed: see never_destroyed.hpp.
    static const auto* made = [] {
      auto* method =
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "fiber memory");
      BIO_meth_set_read(method, read);
      BIO_meth_set_write(method, write);
      BIO_meth_set_ctrl(method, control);
      return method;
    }();
    return made;
  }
};

TlsTransport::TlsTransport(UniqueFd socket, const Identity& identity, TlsRole role)
  : socket_(std::move(socket)), identity_(identity), memory_(std::make_unique<Memory>()),
    ssl_(SSL_new(identity.impl().context())) {
  if (!ssl_)
    throw TlsError("cannot set up TLS: " + openssl_error());
  BIO* bio = Memory::make_bio(*memory_);
  SSL_set_bio(ssl_.get(), bio, bio);
  if (role == TlsRole::client)
    SSL_set_connect_state(ssl_.get());
  else
    SSL_set_accept_state(ssl_.get());
}

TlsTransport::~TlsTransport() = default;

TlsTransport::Progress TlsTransport::handshake(std::string& error) {
  while (true) {
    auto sent = send_encrypted(); // The remainder of the last call.
    int result = -1;
    if (sent.state == IoResult::State::ok) {
      ERR_clear_error();
      result = SSL_do_handshake(ssl_.get());
      if (result != 1 && SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ)
        error = handshake_error();
      std::swap(memory_->out, sending_);
      answered_ = answered_ || !sending_.empty();
      sent = send_encrypted(); // Includes the alert that tells the peer the reason.
    }
    if (!error.empty())
      return Progress::failed;
    if (sent.state == IoResult::State::failed) {
      error = "connection lost: " + sent.error;
      return Progress::lost;
    }
    if (sent.state == IoResult::State::blocked)
      return Progress::want_write;
    if (result == 1)
      return Progress::done;
    const auto got = fill();
    if (got.state == IoResult::State::end)
      error = "closed the connection during the handshake";
    else if (got.state == IoResult::State::failed)
      error = "connection lost: " + got.error;
    else if (got.bytes == 0)
      return Progress::want_read;
    if (!error.empty())
      return Progress::lost;
  }
}

std::string TlsTransport::peer_name() const {
  const CertPtr cert(SSL_get1_peer_certificate(ssl_.get()));
  std::array<char, 65> name{}; // The standard's limit for a CN, and NUL.
  if (!cert ||
      X509_NAME_get_text_by_NID(X509_get_subject_name(cert.get()), NID_commonName,
                                name.data(), static_cast<int>(name.size())) < 0)
    return {};
  return name.data();
}

/// Returns the reason in words for a reader of logs rather than OpenSSL's.
std::string TlsTransport::handshake_error() const {
  const auto code = ERR_peek_error();
  const auto text = openssl_error();
  if (ERR_GET_LIB(code) != ERR_LIB_SSL)
    return "TLS failed: " + text;
  switch (ERR_GET_REASON(code)) {
  case SSL_R_WRONG_VERSION_NUMBER:
  case SSL_R_HTTP_REQUEST:
  case SSL_R_HTTPS_PROXY_REQUEST:
  case SSL_R_PACKET_LENGTH_TOO_LONG:
  case SSL_R_RECORD_LENGTH_MISMATCH:
  case SSL_R_UNEXPECTED_MESSAGE:
    return "does not speak TLS (" + text + ")";
  case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
    return "shows no certificate";
  case SSL_R_CERTIFICATE_VERIFY_FAILED:
    return std::string("its certificate is not of this session (") +
           X509_verify_cert_error_string(SSL_get_verify_result(ssl_.get())) + ")";
  default:
    return "TLS failed: " + text;
  }
}

/// Reads from the socket as much as fits.
IoResult TlsTransport::fill() {
  auto& memory = *memory_;
  if (memory.begin == memory.end) {
    memory.begin = memory.end = 0;
  } else if (memory.begin > 0) {
    std::memmove(memory.in.get(), memory.in.get() + memory.begin,
                 memory.end - memory.begin);
    memory.end -= std::exchange(memory.begin, 0);
  }
  const iovec room{memory.in.get() + memory.end, in_bytes - memory.end};
  auto result = receive_some(fd(), {&room, 1});
  memory.end += result.bytes;
  return result;
}

IoResult TlsTransport::read(std::span<const iovec> into) {
  IoResult result;
  bool drained = false;
  for (const auto& part : into) {
    for (std::size_t at = 0; at < part.iov_len;) {
      int count, need = SSL_ERROR_NONE;
      {
        const std::lock_guard lock(mutex_);
        ERR_clear_error();
        count = SSL_read(ssl_.get(), static_cast<std::byte*>(part.iov_base) + at,
                         static_cast<int>(std::min(part.iov_len - at, out_bytes)));
        if (count <= 0)
          need = SSL_get_error(ssl_.get(), count);
        if (!memory_->out.empty())
          must_write_ = true;
      }
      if (count > 0) {
        at += static_cast<std::size_t>(count);
        result.bytes += static_cast<std::size_t>(count);
        continue;
      }
      if (need == SSL_ERROR_WANT_READ) {
        if (drained)
          return result;
        auto got = ended_ ? IoResult{0, IoResult::State::end} : fill();
        if (got.bytes > 0) {
          drained = memory_->end < in_bytes;
          continue;
        }
        if (got.state == IoResult::State::ok || result.bytes > 0) {
          ended_ |= got.state == IoResult::State::end;
          return result;
        }
        return got;
      }
      if (result.bytes > 0)
        return result; // The next read reports it again.
      if (need == SSL_ERROR_ZERO_RETURN)
        return {0, IoResult::State::end};
      return {0, IoResult::State::failed, "TLS failed: " + openssl_error()};
    }
  }
  return result;
}

IoResult TlsTransport::write(std::span<const iovec> from) {
  IoResult result;
  std::size_t skip = 0; // Consumed bytes of from.front().
  while (true) {
    const auto sent = send_encrypted();
    if (sent.state != IoResult::State::ok) {
      // Encrypted bytes count as taken, so the caller must call again to send them.
      must_write_ = sent.state == IoResult::State::blocked;
      result.state = sent.state;
      result.error = sent.error;
      return result;
    }
    const std::lock_guard lock(mutex_);
    while (!from.empty() && memory_->out.size() < out_bytes) {
      ERR_clear_error();
      if (!encrypt(from, skip, result.bytes))
        return {0, IoResult::State::failed, "TLS failed: " + openssl_error()};
    }
    std::swap(memory_->out, sending_);
    must_write_ = false;
    if (sending_.empty())
      return result;
  }
}

std::size_t TlsTransport::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return memory_->out.size() + sending_.size() - sent_;
}

std::size_t TlsTransport::unsent_bytes() const {
  int count = 0;
  return ::ioctl(fd(), SIOCOUTQNSD, &count) == 0 ? static_cast<std::size_t>(count) : 0;
}

/// Encrypts the next bytes of `from` as one record, which may join short parts.
bool TlsTransport::encrypt(std::span<const iovec>& from, std::size_t& skip,
                           std::size_t& taken) {
  std::array<std::byte, record_bytes> together;
  const auto first = from.front().iov_len - skip;
  const auto* data = static_cast<const std::byte*>(from.front().iov_base) + skip;
  auto size = std::min(first, record_bytes);
  if (first < record_bytes && from.size() > 1) {
    size = 0;
    auto offset = skip;
    for (const auto& part : from) {
      const auto count = std::min(part.iov_len - offset, record_bytes - size);
      std::memcpy(together.data() + size, static_cast<std::byte*>(part.iov_base) + offset,
                  count);
      size += count;
      offset = 0;
    }
    data = together.data();
  }
  const auto count = SSL_write(ssl_.get(), data, static_cast<int>(size));
  if (count <= 0)
    return false;
  taken += static_cast<std::size_t>(count);
  for (skip += static_cast<std::size_t>(count);
       !from.empty() && skip >= from.front().iov_len; from = from.subspan(1))
    skip -= from.front().iov_len;
  return true;
}

/// Sends the encrypted bytes; blocked if the socket does not take all. Needs no lock:
/// only the writing thread calls it.
IoResult TlsTransport::send_encrypted() {
  while (sent_ < sending_.size()) {
    const iovec rest{sending_.data() + sent_, sending_.size() - sent_};
    auto result = send_some(fd(), {&rest, 1});
    if (result.state != IoResult::State::ok)
      return result;
    sent_ += result.bytes;
  }
  sending_.clear();
  sent_ = 0;
  return {};
}

} // namespace fiber::wire
