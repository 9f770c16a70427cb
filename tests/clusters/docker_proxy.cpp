// SPDX-License-Identifier: Apache-2.0
#include "tests/clusters/docker_proxy.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

namespace fiber::clusters {

namespace {

constexpr int look_up = 20; // Milliseconds, for whether to stop.

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

UniqueFd unix_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool begins_request(std::string_view bytes) {
  constexpr std::array<std::string_view, 4> methods{"GET /", "POST /", "DELETE /",
                                                    "PUT /"};
  return std::any_of(methods.begin(), methods.end(),
                     [&](auto method) { return bytes.starts_with(method); });
}

} // namespace

DockerProxy::DockerProxy(const std::string& engine)
  : engine_(engine.substr(std::string_view("unix://").size())) {
  std::string folder = "/tmp/docker-proxy-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr)
    throw std::runtime_error("mkdtemp " + folder);
  path_ = std::filesystem::path(folder) / "socket";
  listener_ = unix_socket();
  auto address = address_of(path_);
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) ||
      ::listen(listener_.get(), 64))
    throw std::runtime_error("listen at " + path_.string());
  acceptor_ = std::thread([this] { accept(); });
}

DockerProxy::~DockerProxy() {
  stopping_ = true;
  acceptor_.join();
  for (auto& thread : threads_)
    thread.join();
  std::filesystem::remove_all(path_.parent_path());
}

void DockerProxy::harm(Harm harm, std::string text, int times) {
  std::lock_guard lock(mutex_);
  orders_.push_back({harm, std::move(text), times});
}

void DockerProxy::heal() {
  std::lock_guard lock(mutex_);
  orders_.clear();
}

int DockerProxy::seen(const std::string& text) const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(std::count_if(lines_.begin(), lines_.end(), [&](auto& line) {
    return line.find(text) != line.npos;
  }));
}

void DockerProxy::accept() {
  pollfd ready{listener_.get(), POLLIN, 0};
  while (!stopping_)
    if (::poll(&ready, 1, look_up) > 0) {
      UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client)
        threads_.emplace_back(
          [this, client = std::move(client)]() mutable { serve(std::move(client)); });
    }
}

/// A client sends nothing more before it has its reply: what looks like the first line of
/// a request is one.
DockerProxy::Fate DockerProxy::fate_of(std::string_view request) {
  if (!begins_request(request))
    return Fate::pass;
  std::string line(request.substr(0, request.find('\r')));
  std::lock_guard lock(mutex_);
  lines_.push_back(line);
  auto order = std::find_if(orders_.begin(), orders_.end(), [&](const Order& one) {
    return one.times > 0 && line.find(one.text) != line.npos;
  });
  if (order == orders_.end())
    return Fate::pass;
  --order->times;
  ++harmed_;
  return order->harm == Harm::swallow ? Fate::swallow : Fate::lose_reply;
}

void DockerProxy::serve(UniqueFd client) {
  auto engine = unix_socket();
  auto address = address_of(engine_);
  if (::connect(engine.get(), reinterpret_cast<sockaddr*>(&address), sizeof address))
    return;
  std::array<pollfd, 2> ends{{{client.get(), POLLIN, 0}, {engine.get(), POLLIN, 0}}};
  std::array<char, 64 << 10> buffer;
  auto fate = Fate::pass;
  while (!stopping_ && !(breaking_ && fate == Fate::swallow)) {
    if (::poll(ends.data(), ends.size(), look_up) <= 0)
      continue;
    for (std::size_t from = 0; from < ends.size(); ++from) {
      if (ends[from].revents == 0)
        continue;
      auto got = ::recv(ends[from].fd, buffer.data(), buffer.size(), 0);
      if (got <= 0)
        return;
      std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
      bool upwards = from == 0;
      if (upwards && fate == Fate::pass)
        fate = fate_of(bytes);
      if (fate == Fate::swallow)
        continue;
      if (!upwards && fate == Fate::lose_reply)
        return;
      if (!send_all(ends[1 - from].fd, bytes))
        return;
    }
  }
}

} // namespace fiber::clusters
