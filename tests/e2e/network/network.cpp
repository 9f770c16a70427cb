// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/network/network.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fiber::e2e {
namespace {

constexpr const char* far_side_variable = "E2E_FAR_SIDE";

/// More than TCP has under way here; a router has a limit as well.
constexpr std::size_t max_under_way = 20000;

[[noreturn]] void fail(const std::string& what) {
  throw NoNamespace(what + ": " + std::strerror(errno));
}

void set_address(const UniqueFd& socket, ifreq request, unsigned long what,
                 const char* text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, text, &address.sin_addr);
  std::memcpy(&request.ifr_addr, &address, sizeof address);
  if (ioctl(socket.get(), what, &request) != 0)
    fail(std::string("set address ") + text);
}

void bring_up(const UniqueFd& socket, ifreq request) {
  if (ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0)
    fail("SIOCGIFFLAGS");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP | IFF_RUNNING);
  if (ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0)
    fail("SIOCSIFFLAGS");
}

UniqueFd present_network() {
  UniqueFd network(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!network)
    fail("open /proc/thread-self/ns/net");
  return network;
}

/// An end of the cable, in this thread's network, which has that address there.
UniqueFd make_end(const char* address) {
  UniqueFd end(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!end)
    fail("open /dev/net/tun");
  ifreq request{};
  std::strncpy(request.ifr_name, "cable", IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (ioctl(end.get(), TUNSETIFF, &request) != 0)
    fail("TUNSETIFF");
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket)
    fail("socket");
  set_address(socket, request, SIOCSIFADDR, address);
  set_address(socket, request, SIOCSIFNETMASK, "255.255.255.252");
  bring_up(socket, request);
  std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
  bring_up(socket, request);
  return end;
}

/// What matters of a TCP packet.
struct Segment {
  std::uint16_t from = 0, to = 0;
  bool has_data = false;
};

bool is_ipv4(const std::vector<char>& packet) {
  return packet.size() >= sizeof(iphdr) && (packet[0] & 0xf0) == 0x40;
}

/// All zeros for what is no TCP.
Segment segment_of(const std::vector<char>& packet) {
  iphdr ip{};
  tcphdr tcp{};
  std::memcpy(&ip, packet.data(), sizeof ip);
  auto start = std::size_t{ip.ihl} * 4;
  if (ip.protocol != IPPROTO_TCP || packet.size() < start + sizeof tcp)
    return {};
  std::memcpy(&tcp, packet.data() + start, sizeof tcp);
  return {ntohs(tcp.source), ntohs(tcp.dest),
          packet.size() > start + std::size_t{tcp.doff} * 4};
}

} // namespace

Cable::Cable(NearSide near_side) {
  auto before = present_network();
  enter_own_namespace(CLONE_NEWNET);
  far_side_ = present_network();
  worker_end_ = make_end(worker_address);
  if (near_side == NearSide::own && unshare(CLONE_NEWNET) != 0)
    fail("unshare(CLONE_NEWNET) a second time");
  if (near_side == NearSide::here && setns(before.get(), CLONE_NEWNET) != 0)
    fail("setns back to the network that it came from");
  driver_end_ = make_end(driver_address);
  stop_.reset(::eventfd(0, EFD_CLOEXEC));
  if (!stop_)
    fail("eventfd");
  auto path =
    "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(far_side_.get());
  ::setenv(far_side_variable, path.c_str(), 1);
  thread_ = std::thread([this] { carry(); });
}

Cable::~Cable() {
  ::unsetenv(far_side_variable);
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void Cable::delay(std::chrono::milliseconds each_way) {
  std::lock_guard lock(mutex_);
  delay_ = each_way;
}

void Cable::lose(double probability, std::uint64_t seed) {
  std::lock_guard lock(mutex_);
  loss_ = std::bernoulli_distribution(probability);
  random_.seed(seed);
}

void Cable::cut(Cut what, std::vector<std::uint16_t> ports) {
  std::lock_guard lock(mutex_);
  cut_ = what;
  ports_ = std::move(ports);
}

Cable::Counts Cable::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

void Cable::carry() {
  for (;;) {
    pollfd ready[] = {{stop_.get(), POLLIN, 0},
                      {driver_end_.get(), POLLIN, 0},
                      {worker_end_.get(), POLLIN, 0}};
    if (::poll(ready, 3, until_next()) < 0 && errno != EINTR)
      std::abort();
    if (ready[0].revents != 0)
      return;
    take(driver_end_, worker_end_);
    take(worker_end_, driver_end_);
    deliver();
  }
}

/// Reads what there is, and sends it on its way or not.
void Cable::take(const UniqueFd& from, const UniqueFd& to) {
  std::vector<char> packet(65536);
  for (;;) {
    packet.resize(65536);
    auto size = ::read(from.get(), packet.data(), packet.size());
    if (size <= 0)
      return;
    packet.resize(static_cast<std::size_t>(size));
    if (!is_ipv4(packet))
      continue; // What IPv6 says when a device comes up.
    std::lock_guard lock(mutex_);
    if (keeps_back(packet, to.get() == driver_end_.get())) {
      ++counts_.cut;
    } else if (loss_(random_) || under_way_.size() >= max_under_way) {
      ++counts_.lost;
    } else {
      ++(delay_.count() > 0 ? counts_.delayed : counts_.carried);
      auto due = Clock::now() + delay_;
      if (!under_way_.empty())
        due = std::max(due, under_way_.back().due); // They arrive in order.
      under_way_.push_back({due, to.get(), packet});
    }
  }
}

bool Cable::keeps_back(const std::vector<char>& packet, bool to_driver) const {
  auto segment = segment_of(packet);
  auto port = to_driver ? segment.from : segment.to;
  if (!ports_.empty() && std::count(ports_.begin(), ports_.end(), port) == 0)
    return false;
  switch (cut_) {
  case Cut::none:
    return false;
  case Cut::both:
    return true;
  case Cut::towards_driver:
    return to_driver;
  case Cut::towards_worker:
    return !to_driver;
  case Cut::data_towards_worker:
    return !to_driver && segment.has_data;
  }
  return false;
}

/// Hands over what is due. What a device does not take is lost, as on any network.
void Cable::deliver() {
  auto now = Clock::now();
  for (; !under_way_.empty() && under_way_.front().due <= now; under_way_.pop_front()) {
    auto& packet = under_way_.front();
    static_cast<void>(!::write(packet.to, packet.bytes.data(), packet.bytes.size()));
  }
}

/// Milliseconds, as poll() takes them.
int Cable::until_next() const {
  if (under_way_.empty())
    return -1;
  auto left =
    std::chrono::ceil<std::chrono::milliseconds>(under_way_.front().due - Clock::now());
  return static_cast<int>(std::max(left.count(), std::chrono::milliseconds::rep{0}));
}

void enter_far_side() {
  auto* path = std::getenv(far_side_variable);
  if (path == nullptr)
    return;
  UniqueFd far_side(::open(path, O_RDONLY | O_CLOEXEC));
  if (!far_side || setns(far_side.get(), CLONE_NEWNET) != 0) {
    std::perror(path);
    std::_Exit(1); // A worker on the wrong side would prove nothing.
  }
}

std::uint16_t port_to_driver() {
  sockaddr_in driver{};
  inet_pton(AF_INET, Cable::driver_address, &driver.sin_addr);
  for (int fd = 0; fd < 256; ++fd) {
    sockaddr_in peer{}, own{};
    socklen_t peer_size = sizeof peer, own_size = sizeof own;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
        peer.sin_family == AF_INET && peer.sin_addr.s_addr == driver.sin_addr.s_addr &&
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) == 0)
      return ntohs(own.sin_port);
  }
  throw std::logic_error("this process has no connection to the driver");
}

} // namespace fiber::e2e
