// SPDX-License-Identifier: Apache-2.0
#include "actors/sync/sync_object.hpp"

#include <array>

namespace fiber::actors {

void write(Writer& writer, const SyncRequest& request) {
  writer.put(request.op);
  writer.put(request.thread.number);
  writer.put(request.thread.pid);
  writer.put(request.thread.tid);
  writer.put(request.n);
}

SyncRequest read_sync_request(Reader& reader) {
  SyncRequest request;
  auto op = reader.get<std::uint8_t>();
  if (op > static_cast<std::uint8_t>(SyncOp::count_waiting))
    throw Error("a lock has no operation " + std::to_string(op));
  request.op = static_cast<SyncOp>(op);
  request.thread.number = reader.get<std::uint64_t>();
  request.thread.pid = reader.get<std::uint32_t>();
  request.thread.tid = reader.get<std::uint32_t>();
  request.n = reader.get<std::uint64_t>();
  return request;
}

const char* name_of(SyncKind kind) {
  constexpr std::array names{
    "a Lock",   "an RLock",    "a Semaphore", "a BoundedSemaphore",
    "an Event", "a Condition", "a Barrier"};
  return names.at(static_cast<std::size_t>(kind));
}

SyncObject::Replies SyncObject::refuse_op(const Asker& who, SyncKind kind, SyncOp op) {
  return refuse(who, name_of(kind) + std::string(" has no operation ") +
                       std::to_string(static_cast<int>(op)));
}

std::unique_ptr<SyncObject> new_sync_object(SyncKind kind, std::uint64_t n) {
  switch (kind) {
  case SyncKind::lock:
    return new_permits(kind, 1);
  case SyncKind::semaphore:
  case SyncKind::bounded_semaphore:
    return new_permits(kind, n);
  case SyncKind::rlock:
  case SyncKind::condition:
    return new_monitor(kind);
  case SyncKind::event:
    return new_event();
  case SyncKind::barrier:
    return new_barrier(n);
  }
  return nullptr;
}

} // namespace fiber::actors
