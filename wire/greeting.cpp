// SPDX-License-Identifier: Apache-2.0
#include "wire/greeting.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "wire/frame.hpp"

namespace fiber::wire {
namespace {

constexpr std::byte protocol_version{1};
constexpr auto other_build_words = "build of the program";

void append(Bytes& out, const std::string& text) {
  out.push_back(static_cast<std::byte>(text.size()));
  out.push_back(static_cast<std::byte>(text.size() >> 8));
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::optional<std::string> take_text(std::span<const std::byte>& in) {
  if (in.size() < 2)
    return std::nullopt;
  const auto size =
    std::to_integer<std::size_t>(in[0]) | std::to_integer<std::size_t>(in[1]) << 8;
  if (in.size() - 2 < size)
    return std::nullopt;
  std::string text(reinterpret_cast<const char*>(in.data()) + 2, size);
  in = in.subspan(2 + size);
  return text;
}

/// Makes a peer's text safe for a log line or an exception: one short printable line.
std::string printable(std::string text) {
  text.resize(std::min<std::size_t>(text.size(), 300));
  for (auto& letter : text)
    if (letter < ' ' || letter > '~')
      letter = '?';
  return text;
}

std::string text_of(std::span<const std::byte> bytes) {
  return printable({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

} // namespace

Bytes pack_hello(const Hello& hello) {
  Bytes out(1 + total_length_bytes);
  out[0] = protocol_version;
  encode_total(hello.incarnation, out.data() + 1);
  append(out, hello.session);
  append(out, hello.build);
  return out;
}

std::optional<Hello> unpack_hello(std::span<const std::byte> bytes) {
  if (bytes.size() < 1 + total_length_bytes || bytes[0] != protocol_version)
    return std::nullopt;
  const auto incarnation = decode_total(bytes.data() + 1);
  bytes = bytes.subspan(1 + total_length_bytes);
  auto session = take_text(bytes);
  auto build = session ? take_text(bytes) : std::nullopt;
  if (!build || !bytes.empty())
    return std::nullopt;
  return Hello{std::move(*session), std::move(*build), incarnation};
}

Greeting::Greeting(UniqueFd socket, const Identity& identity, TlsRole role, Hello own)
  : transport_(std::make_unique<TlsTransport>(std::move(socket), identity, role)),
    role_(role), own_(std::move(own)) {}

Greeting::Progress Greeting::step() {
  // The client speaks first; the server answers with a hello or with a refusal.
  while (true) {
    Progress progress = Progress::done;
    switch (phase_) {
    case Phase::handshake:
      progress = transport_->handshake(error_);
      if (progress != Progress::done)
        return progress;
      phase_ = Phase::receive;
      if (role_ == TlsRole::client) {
        queue(FrameType::hello, pack_hello(own_));
        phase_ = Phase::send;
      }
      break;
    case Phase::receive:
      progress = receive();
      break;
    case Phase::send:
      progress = send(role_ == TlsRole::client ? Phase::receive : Phase::done);
      break;
    case Phase::refuse:
      progress = send(Phase::done);
      return progress == Progress::done ? Progress::failed : progress;
    case Phase::done:
      return Progress::done;
    }
    if (progress != Progress::done)
      return progress;
  }
}

/// Reads exactly one frame: further bytes belong to the link.
Greeting::Progress Greeting::receive() {
  while (true) {
    auto wanted = frame_header_bytes;
    std::optional<FrameHeader> header;
    if (in_.size() >= frame_header_bytes) {
      std::string ignored;
      header = decode(in_.data(), ignored);
      if (!header ||
          (header->type != FrameType::hello && header->type != FrameType::refuse))
        return fail("speaks TLS but not our protocol");
      wanted += header->length;
    }
    const auto at = in_.size();
    if (header && at == wanted) {
      const auto payload = std::span(in_).subspan(frame_header_bytes);
      if (header->type == FrameType::refuse && role_ == TlsRole::client)
        return refused(text_of(payload));
      auto hello =
        header->type == FrameType::hello ? unpack_hello(payload) : std::nullopt;
      if (!hello)
        return fail("speaks TLS but not our protocol");
      peer_ = std::move(*hello);
      if (!check_peer())
        return role_ == TlsRole::client ? Progress::failed : Progress::done;
      phase_ = Phase::done;
      if (role_ == TlsRole::server) {
        queue(FrameType::hello, pack_hello(own_));
        phase_ = Phase::send;
      }
      return Progress::done;
    }
    in_.resize(wanted);
    const iovec room{in_.data() + at, wanted - at};
    const auto result = transport_->read({&room, 1});
    in_.resize(at + result.bytes);
    if (result.state == IoResult::State::end)
      return fail("closed the connection before it said who it is", Progress::lost);
    if (result.state == IoResult::State::failed)
      return role_ == TlsRole::client
               ? fail("did not accept our certificate (" + result.error + ")")
               : fail(result.error, Progress::lost);
    if (result.bytes == 0)
      return Progress::want_read;
  }
}

/// Checks that the peer is the one that its certificate names, its session and its build.
/// On a mismatch returns false, and a listener queues the refusal.
bool Greeting::check_peer() {
  const bool server = role_ == TlsRole::server;
  other_build_ = peer_.session == own_.session && peer_.build != own_.build;
  const auto differ = [&](const char* what, std::string theirs, std::string ours) {
    theirs = printable(theirs.substr(0, 40));
    ours = printable(ours.substr(0, 40));
    return std::string("another ") + what + ": the dialler's is " +
           (server ? theirs : ours) + ", the listener's is " + (server ? ours : theirs);
  };
  if (transport_->peer_name() != certificate_name(peer_.incarnation))
    error_ = "claims to be " + certificate_name(peer_.incarnation) +
             ", but its certificate is " + printable(transport_->peer_name()) + "'s";
  else if (peer_.session != own_.session)
    error_ = differ("session", peer_.session, own_.session);
  else if (peer_.build != own_.build)
    error_ = differ(other_build_words, peer_.build, own_.build);
  else
    return true;
  if (server) {
    const auto text = std::as_bytes(std::span(error_));
    queue(FrameType::refuse, Bytes(text.begin(), text.end()));
    phase_ = Phase::refuse;
  } else if (error_.starts_with("another")) {
    error_ = "answered for " + error_;
  }
  return false;
}

void Greeting::queue(FrameType type, const Bytes& payload) {
  append_control(out_, type, 0, static_cast<std::uint32_t>(payload.size()), payload);
}

Greeting::Progress Greeting::send(Phase next) {
  const iovec rest{out_.data() + sent_, out_.size() - sent_};
  const auto result = transport_->write(std::span(&rest, rest.iov_len > 0 ? 1 : 0));
  sent_ += result.bytes;
  if (result.state == IoResult::State::failed)
    return fail("connection lost: " + result.error, Progress::lost);
  if (result.state == IoResult::State::blocked || sent_ < out_.size())
    return Progress::want_write;
  phase_ = next;
  return Progress::done;
}

std::string Greeting::unfinished() const {
  if (phase_ == Phase::refuse)
    return error_;
  return phase_ == Phase::handshake ? "did not finish the TLS handshake in time"
                                    : "did not say who it is in time";
}

/// Handles a refusal. The listener has sent no Hello, so the reason is known from its
/// words only.
Greeting::Progress Greeting::refused(const std::string& words) {
  other_build_ = words.starts_with(std::string("another ") + other_build_words);
  return fail("refused us: " + words);
}

/// A peer that we refuse is refused, even if it leaves before it has heard so.
Greeting::Progress Greeting::fail(std::string reason, Progress how) {
  if (phase_ == Phase::refuse)
    return Progress::failed;
  error_ = std::move(reason);
  return how;
}

} // namespace fiber::wire
