// SPDX-License-Identifier: Apache-2.0
#include "wire/local_listener.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/log.hpp"
#include "base/system_error_text.hpp"
#include "base/unique_fd.hpp"
#include "wire/error.hpp"
#include "wire/reactor.hpp"
#include "wire/refusal_log.hpp"
#include "wire/stream_link.hpp"

namespace fiber::wire {
namespace {

/// Pause after an accept that failed, since the kernel would say the same at once.
constexpr std::chrono::milliseconds retry_pause{100};
constexpr int backlog = 64;
constexpr int accepts_per_turn = 16;

[[noreturn]] void fail(const std::string& what) {
  throw WireError(what + ": " + system_error_text(errno));
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw WireError(path + ": longer than the path of a socket may be");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

UniqueFd make_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket)
    fail("cannot make a local socket");
  return socket;
}

ucred peer_of(int fd) {
  ucred peer{.pid = 0, .uid = static_cast<uid_t>(-1), .gid = static_cast<gid_t>(-1)};
  socklen_t size = sizeof peer;
  static_cast<void>(::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size));
  return peer;
}

/// An empty folder that only this user can enter. It is removed at the end.
class PrivateFolder {
public:
  /// Throws WireError.
  PrivateFolder() {
    for (const char* parent : {"/tmp", "/dev/shm", "/var/tmp"}) {
      path_ = std::string(parent) + "/fiber-link-XXXXXX";
      if (::mkdtemp(path_.data()) != nullptr)
        return;
    }
    fail("cannot make a folder for a local socket in /tmp, /dev/shm or /var/tmp");
  }
  ~PrivateFolder() { ::rmdir(path_.c_str()); }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const { return path_; }

private:
  std::string path_;
};

/// Binds `socket` to a file and removes the file at once, so that none is left behind
/// however this process ends. Returns a descriptor of the file: /proc/PID/fd/N still
/// leads to the socket, but only for processes of this user.
UniqueFd bind_to_hidden_file(const UniqueFd& socket) {
  const PrivateFolder folder;
  const auto path = folder.path() + "/socket";
  const auto address = address_of(path);
  // The mode of the socket becomes that of its file.
  if (::fchmod(socket.get(), 0600) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
        0)
    fail("cannot bind a local socket to " + path);
  UniqueFd file(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const auto error = errno;
  ::unlink(path.c_str());
  if (!file) {
    errno = error;
    fail("cannot open " + path);
  }
  return file;
}

/// The name of a LocalListener: PID/N for /proc/PID/fd/N.
struct Place {
  pid_t pid = 0;
  int fd = -1;
};

std::optional<Place> read_place(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == name.npos)
    return std::nullopt;
  auto number = [](std::string_view text, auto& value) {
    auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && rest == text.data() + text.size() && value >= 0;
  };
  Place place;
  return number(name.substr(0, slash), place.pid) &&
             number(name.substr(slash + 1), place.fd)
           ? std::optional(place)
           : std::nullopt;
}

} // namespace

class LocalListener::Door final : public std::enable_shared_from_this<Door>,
                                  public ReactorMember {
public:
  Door(Reactor& reactor, LinkOptions options, Accept accept)
    : reactor_(reactor), options_(options), accept_(std::move(accept)),
      context_(reactor.shared_context()), descriptor_(*context_), timer_(*context_),
      socket_(make_socket()), file_(bind_to_hidden_file(socket_)),
      name_(std::to_string(::getpid()) + "/" + std::to_string(file_.get())) {
    if (::listen(socket_.get(), backlog) != 0)
      fail("cannot listen on a local socket");
    descriptor_.assign(socket_.get());
  }
  ~Door() { descriptor_.release(); }

  void wait() {
    if (!closed_)
      descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                             [self = shared_from_this()](const auto& error) {
                               if (!error)
                                 self->take();
                             });
  }

  const std::string& name() const { return name_; }

  /// No more calls of the user's function.
  void close() {
    std::lock_guard lock(gate_);
    accept_ = nullptr;
  }

  void abandon() override {
    closed_ = true;
    descriptor_.release();
    timer_.cancel();
  }

private:
  void take() {
    for (int accepted = 0; accepted < accepts_per_turn && !closed_;) {
      UniqueFd socket(
        ::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket) {
        ++accepted;
        welcome(std::move(socket));
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK)
        return wait();
      if (errno == EINTR || errno == ECONNABORTED)
        continue;
      timer_.expires_after(retry_pause); // Out of descriptors or memory.
      timer_.async_wait([self = shared_from_this()](const auto& error) {
        if (!error)
          self->take();
      });
      return;
    }
    wait(); // Others of this reactor get their turn first.
  }

  void welcome(UniqueFd socket) {
    auto peer = peer_of(socket.get());
    auto who = "process " + std::to_string(peer.pid);
    if (peer.uid != ::geteuid()) {
      refusals_.refused(who, "it is of another user");
      return;
    }
    std::lock_guard lock(gate_);
    if (!accept_)
      return;
    try {
      accept_(who, adopt(reactor_, std::move(socket), options_));
    } catch (const std::exception& failure) {
      log().error("cannot greet {}: {}", who, failure.what());
    }
  }

  Reactor& reactor_;
  const LinkOptions options_;
  std::recursive_mutex gate_; ///< The function may destroy the listener.
  Accept accept_;
  const std::shared_ptr<boost::asio::io_context> context_;
  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer timer_;
  const UniqueFd socket_, file_;
  RefusalLog refusals_; ///< Reactor's thread only.
  bool closed_ = false; ///< Reactor's thread only.
  const std::string name_;
};

LocalListener::LocalListener(Reactor& reactor, LinkOptions options, Accept accept)
  : door_(std::make_shared<Door>(reactor, options, std::move(accept))),
    reactor_(reactor) {
  reactor.enlist(door_);
  reactor.post([door = door_] { door->wait(); });
}

LocalListener::~LocalListener() {
  door_->close();
  reactor_.post([door = door_] { door->abandon(); });
}

const std::string& LocalListener::name() const {
  return door_->name();
}

std::shared_ptr<Link> dial_local(Reactor& reactor, const std::string& name,
                                 LinkOptions options) {
  const auto place = read_place(name);
  if (!place)
    throw WireError("a local socket can't be called '" + name +
                    "'; it is PID/DESCRIPTOR");
  auto socket = make_socket();
  const auto address = address_of("/proc/" + std::to_string(place->pid) + "/fd/" +
                                  std::to_string(place->fd));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0)
    fail("cannot reach a local socket");
  const auto peer = peer_of(socket.get());
  if (peer.uid != ::geteuid() || peer.pid != place->pid)
    throw WireError("a local socket is of another user or process");
  return adopt(reactor, std::move(socket), options);
}

} // namespace fiber::wire
