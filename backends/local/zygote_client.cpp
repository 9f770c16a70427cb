// SPDX-License-Identifier: Apache-2.0
#include "backends/local/zygote_client.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <csignal>

namespace fiber::backends::local {

using std::chrono::milliseconds;

std::shared_ptr<ZygoteClient> ZygoteClient::start(Loop& loop, Output& output,
                                                  Output::Key key, const Program& program,
                                                  Handler handler) {
  auto [ours, theirs] = make_socket_pair(SOCK_SEQPACKET);
  auto [read_end, write_end] = make_pipe();
  int pid = spawn(program, "zygote", theirs.get(), write_end.get());
  std::shared_ptr<ZygoteClient> client(
    new ZygoteClient(loop, output, key, std::move(handler)));
  client->pid_ = pid;
  client->pidfd_ = open_pidfd(pid);
  client->control_ = std::move(ours);
  output.add(key, "zygote", std::move(read_end));
  client->listen();
  return client;
}

void ZygoteClient::listen() {
  loop_.watch(control_.get(), EPOLLIN,
              [self = shared_from_this()](std::uint32_t) { self->take_messages(); });
  on_exit(loop_, pid_, pidfd_.get(), [self = shared_from_this()] { self->on_dead(); });
}

int ZygoteClient::request(const Message& job, std::span<const int> fds) {
  return send_message(control_.get(), job, fds, MSG_DONTWAIT);
}

void ZygoteClient::close() {
  // The zygote reads the end; we still read its messages.
  ::shutdown(control_.get(), SHUT_WR);
  send_signal(pid_, pidfd_.get(), ready_ ? SIGCONT : SIGKILL);
  loop_.after(milliseconds(1000), [self = shared_from_this()] {
    if (!self->dead_)
      send_signal(self->pid_, self->pidfd_.get(), SIGKILL);
  });
}

void ZygoteClient::take_messages() {
  while (!ended_) {
    Received received = receive_message(control_.get(), MSG_DONTWAIT);
    if (received.status == Received::Status::nothing)
      return;
    if (received.status == Received::Status::end)
      return on_end();
    handle(std::move(received));
  }
}

void ZygoteClient::handle(Received received) {
  const Message& message = received.message;
  switch (message.kind) {
  case Kind::ready:
    ready_ = true;
    return handler_.ready();
  case Kind::threads:
    return handler_.has_threads(message.value);
  case Kind::started:
    return handler_.started(message.serial, message.pid,
                            received.fds.empty() ? UniqueFd()
                                                 : std::move(received.fds[0]));
  case Kind::ended:
    return handler_.ended(message.serial, Exit::known(message.value));
  case Kind::fork_failed:
    return handler_.fork_failed(message.serial, message.value);
  case Kind::job:
    return; // Sent by drivers only.
  }
}

/// Handles the end of the socket: neither the zygote nor an unannounced job holds it
/// open.
void ZygoteClient::on_end() {
  if (std::exchange(ended_, true))
    return;
  loop_.unwatch(control_.get());
  control_.reset();
  if (!dead_)
    return send_signal(pid_, pidfd_.get(), SIGKILL); // on_dead() follows.
  finish(reap(pid_));
}

void ZygoteClient::on_dead() {
  dead_ = true;
  if (ended_)
    return finish(reap(pid_));
  take_messages();
  // A process that the program started before fiber::init may hold the socket too.
  if (!ended_)
    loop_.after(milliseconds(500), [self = shared_from_this()] { self->give_up(); });
}

/// Stops waiting for the end of the socket. Jobs that have announced themselves by now
/// are read, even if this thread is late; later ones find the socket closed and end.
void ZygoteClient::give_up() {
  if (ended_)
    return;
  ::shutdown(control_.get(), SHUT_RD); // Admits no more messages.
  take_messages();
  on_end();
}

void ZygoteClient::finish(const Exit& exit) {
  auto limit = milliseconds(ready_ ? 0 : 250);
  output_.finish(key_, limit, [self = shared_from_this(), exit] {
    self->loop_.post([self, exit] {
      std::string last = self->output_.last(self->key_);
      self->output_.forget(self->key_);
      self->handler_.lost(self->ready_, exit, std::move(last));
    });
  });
}

} // namespace fiber::backends::local
