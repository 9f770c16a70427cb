// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "actors/objects/object_space.hpp"
#include "actors/protocol/node_protocol.hpp"

// Puts and gets of jobs that wait for no answer: a ledger (JobLedger) records them.

namespace fiber::actors {
namespace {

using ItemSize = std::uint32_t;

Bytes framed(std::span<const std::byte> item) {
  Bytes bytes;
  Writer writer(bytes);
  writer.put(static_cast<ItemSize>(item.size()));
  writer.raw(item.data(), item.size());
  return bytes;
}

} // namespace

void ObjectSpace::set_ledger(std::uint64_t process, std::shared_ptr<JobLedger> ledger) {
  std::lock_guard lock(mutex_);
  if (!closed_)
    ledgers_[process] = std::move(ledger);
}

std::shared_ptr<JobLedger> ObjectSpace::ledger(std::uint64_t process) {
  std::lock_guard lock(mutex_);
  auto known = ledgers_.find(process);
  return known == ledgers_.end() ? nullptr : known->second;
}

std::uint32_t ObjectSpace::taken(const Asker& who) {
  auto of = ledger(who.process);
  return of ? of->taken(who.request) : 0;
}

bool ObjectSpace::put(const detail::HeldId& object, std::span<const std::byte> item) {
  auto own = object.home == driver ? ledger(self_) : nullptr;
  auto link = link_to(driver);
  if (!own || !link || item.size() > max_recorded_bytes)
    return false;
  settle_others(driver);
  Bytes head;
  Writer begin(head);
  write(begin, Op::puts, object.number);
  std::lock_guard lock(put_order_);
  if (!own->put(object.number, item)) {
    flush(driver);
    own->sent();
    own->put(object.number, item);
  }
  link->append(task_stream, head, framed(item));
  return true;
}

void ObjectSpace::arrived_puts(std::uint64_t from, Reader& reader, const Payload& whole) {
  auto number = reader.get<std::uint64_t>();
  auto rest = reader.rest().size();
  if (auto of = ledger(from); of && link_to(from))
    while (!reader.empty())
      of->received(reader.raw(reader.get<ItemSize>()).size());
  else
    return; // It was declared dead, and its recorded puts have been applied.
  ask_here({from, 0}, number, AskKind::puts, whole.slice(whole.size() - rest, rest), {});
}

/// Applies the puts that the process recorded and whose messages did not arrive.
void ObjectSpace::apply_recorded_puts(std::uint64_t process) {
  auto of = ledger(process);
  if (!of)
    return;
  for (auto& [number, item] : of->end().puts)
    ask_here({process, 0}, number, AskKind::puts, Payload(framed(item)), {});
}

} // namespace fiber::actors
