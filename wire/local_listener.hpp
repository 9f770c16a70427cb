// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "wire/link.hpp"

namespace fiber::wire {

class Reactor;

/// Accepts links from processes of the same user on this machine. Its socket has no name
/// in the file system and none in the abstract namespace: only processes that may look
/// into /proc/PID/fd of this one can connect, which those of other users may not. There
/// is no other proof of who a peer is: ask for one in the first message.
class LocalListener {
public:
  /// `who` is for log lines.
  using Accept = std::function<void(const std::string& who, std::shared_ptr<Link>)>;

  /// Throws WireError. `accept` is called on the reactor's thread.
  LocalListener(Reactor& reactor, LinkOptions options, Accept accept);
  ~LocalListener();
  LocalListener(const LocalListener&) = delete;
  LocalListener& operator=(const LocalListener&) = delete;

  /// What dial_local() takes, "PID/DESCRIPTOR".
  const std::string& name() const;

private:
  class Door;
  std::shared_ptr<Door> door_;
  Reactor& reactor_;
};

/// Connects to a LocalListener of the same user, and to nothing else. Does not block.
/// Throws WireError.
std::shared_ptr<Link> dial_local(Reactor& reactor, const std::string& name,
                                 LinkOptions options = {});

} // namespace fiber::wire
