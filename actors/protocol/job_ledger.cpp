// SPDX-License-Identifier: Apache-2.0
#include "actors/protocol/job_ledger.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace fiber::actors {
namespace {

// A line is one word, from the high bits to the low: the request, whether the job was
// declared dead, whether the driver wants a message at the next take(), and the count.
constexpr std::uint64_t count_mask = 0xffff, tell_bit = 1 << 16, dead_bit = 1 << 17;
constexpr int request_shift = 18;

std::uint64_t request_of(std::uint64_t line) {
  return line >> request_shift;
}

struct PutHead {
  std::uint64_t object = 0;
  std::uint64_t size = 0;
};

} // namespace

JobLedger::JobLedger(std::shared_ptr<backends::SharedPage> page)
  : page_(std::move(page)), data_(page_->data() + page_->size() - bytes) {}

std::atomic_ref<std::uint64_t> JobLedger::line(std::size_t index) const {
  return std::atomic_ref(
    *reinterpret_cast<std::uint64_t*>(data_ + (1 + index) * sizeof(std::uint64_t)));
}

std::atomic_ref<std::uint64_t> JobLedger::end_of_puts() const {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(data_));
}

std::byte* JobLedger::ring() const {
  return data_ + (1 + lines) * sizeof(std::uint64_t);
}

// -- what is taken --

std::optional<std::size_t> JobLedger::open(std::uint64_t request) {
  std::lock_guard lock(mutex_);
  auto free = std::ranges::find(open_, false);
  if (free == open_.end())
    return std::nullopt;
  *free = true;
  auto index = static_cast<std::size_t>(free - open_.begin());
  auto at = line(index);
  for (auto was = at.load(); (was & dead_bit) == 0;)
    if (at.compare_exchange_weak(was, request << request_shift))
      break;
  return index;
}

bool JobLedger::take(std::size_t index, std::uint32_t count) {
  auto at = line(index);
  auto was = at.load();
  while ((was & dead_bit) == 0)
    if (at.compare_exchange_weak(was, (was & ~(count_mask | tell_bit)) | count))
      return (was & tell_bit) != 0;
  // The driver has given the items to another process and is about to end this one.
  for (;;)
    std::this_thread::sleep_for(std::chrono::hours(1));
}

void JobLedger::close(std::size_t index) {
  std::lock_guard lock(mutex_);
  open_.at(index) = false;
}

std::uint32_t JobLedger::taken(std::uint64_t request) const {
  for (std::size_t i = 0; i < lines; ++i)
    if (auto now = line(i).load(); request_of(now) == request)
      return static_cast<std::uint32_t>(now & count_mask);
  return 0;
}

void JobLedger::request_report(std::uint64_t request) {
  for (std::size_t i = 0; i < lines; ++i) {
    auto at = line(i);
    auto now = at.load();
    while (request_of(now) == request && !at.compare_exchange_weak(now, now | tell_bit)) {
    }
  }
}

// -- what is put --

bool JobLedger::put(std::uint64_t object, std::span<const std::byte> item) {
  std::lock_guard lock(mutex_);
  auto end = end_of_puts().load(std::memory_order_relaxed);
  const PutHead head{object, item.size()};
  if (end + sizeof head + item.size() - sent_ > ring_bytes)
    return false;
  write(end, std::as_bytes(std::span(&head, 1)));
  write(end + sizeof head, item);
  end_of_puts().store(end + sizeof head + item.size(), std::memory_order_release);
  return true;
}

void JobLedger::sent() {
  std::lock_guard lock(mutex_);
  sent_ = end_of_puts().load(std::memory_order_relaxed);
}

void JobLedger::received(std::size_t item_bytes) {
  std::lock_guard lock(mutex_);
  received_ += sizeof(PutHead) + item_bytes;
}

void JobLedger::write(std::uint64_t at, std::span<const std::byte> bytes) {
  auto from = static_cast<std::size_t>(at % ring_bytes);
  auto first = std::min(bytes.size(), ring_bytes - from);
  std::ranges::copy(bytes.first(first), ring() + from);
  std::ranges::copy(bytes.subspan(first), ring());
}

void JobLedger::read(std::uint64_t at, std::span<std::byte> bytes) const {
  auto from = static_cast<std::size_t>(at % ring_bytes);
  auto first = std::min(bytes.size(), ring_bytes - from);
  auto second = std::copy_n(ring() + from, first, bytes.begin());
  std::copy_n(ring(), bytes.size() - first, second);
}

// -- the end --

JobLedger::Last JobLedger::end() {
  Last last;
  for (std::size_t i = 0; i < lines; ++i) {
    auto was = line(i).fetch_or(dead_bit);
    if (request_of(was) != 0)
      last.taken[request_of(was)] = static_cast<std::uint32_t>(was & count_mask);
  }
  std::lock_guard lock(mutex_);
  auto end = end_of_puts().load(std::memory_order_acquire);
  // A job that went wrong may have written anything here: check the lengths.
  while (end - received_ >= sizeof(PutHead) && end - received_ <= ring_bytes) {
    PutHead head;
    read(received_, std::as_writable_bytes(std::span(&head, 1)));
    if (head.size > end - received_ - sizeof head)
      break;
    Bytes item(static_cast<std::size_t>(head.size));
    read(received_ + sizeof head, item);
    received_ += sizeof head + item.size();
    last.puts.emplace_back(head.object, std::move(item));
  }
  return last;
}

} // namespace fiber::actors
