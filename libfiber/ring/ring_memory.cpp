// SPDX-License-Identifier: Apache-2.0
#include "libfiber/ring/ring_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file_limit.hpp"

namespace fiber::detail {
namespace {

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// With more members a box would be too small for one value of each.
constexpr std::size_t max_members = 512;

/// The tag and the seats, in whole pages.
std::size_t table_bytes(std::size_t members) {
  constexpr std::size_t page = 4096, seat = 16;
  return (sizeof(MemoryPlace::tag) + members * seat + page - 1) / page * page;
}

std::size_t all_bytes(std::size_t members) {
  return table_bytes(members) + RingRounds::memory_bytes;
}

/// Returns whether two descriptors, one of them of another process, are of one file.
bool same_file(const UniqueFd& own, std::int32_t pid, std::int32_t fd) {
  auto path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  struct stat here {
  }, there{};
  return ::fstat(own.get(), &here) == 0 && ::stat(path.c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

} // namespace

std::unique_ptr<RingMemory> RingMemory::make(std::size_t members) {
  const auto bytes = all_bytes(members);
  if (members > max_members || !may_make_file(bytes))
    return nullptr;
  try {
    auto fd = make_memory_file("fiber-ring");
    auto place = place_memory_file(fd, bytes);
    if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(fd.get(), F_ADD_SEALS, seals) != 0)
      return nullptr;
    MemoryMap map(fd, bytes, true);
    if (!map)
      return nullptr;
    std::memcpy(map.data(), &place.tag, sizeof place.tag);
    return std::unique_ptr<RingMemory>(
      new RingMemory(std::move(fd), std::move(map), place, 0, members));
  } catch (const std::system_error&) {
    return nullptr;
  }
}

std::unique_ptr<RingMemory> RingMemory::open(const MemoryPlace& place, std::size_t rank,
                                             std::size_t members) {
  const auto bytes = all_bytes(members);
  auto fd = place.fd < 0 ? UniqueFd() : open_memory_file(place, bytes, seals, true);
  if (!fd)
    return nullptr;
  MemoryMap map(fd, bytes, true);
  if (!map || std::memcmp(map.data(), &place.tag, sizeof place.tag) != 0)
    return nullptr;
  return std::unique_ptr<RingMemory>(
    new RingMemory(std::move(fd), std::move(map), place, rank, members));
}

RingMemory::RingMemory(UniqueFd fd, MemoryMap map, const MemoryPlace& place,
                       std::size_t rank, std::size_t members)
  : fd_(std::move(fd)), map_(std::move(map)), place_(place), processes_(members),
    rounds_(map_.data() + table_bytes(members), rank, members,
            [this] { return find_loss(); }) {
  static_assert(sizeof(Seat) <= 16);
  auto& seat = seats()[rank];
  seat.pid = ::getpid();
  seat.fd = fd_.get();
  std::atomic_ref(seat.taken).store(1, std::memory_order_release);
}

bool RingMemory::sees_all() {
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
    if (rank == rounds_.rank())
      continue;
    auto& seat = seats()[rank];
    if (std::atomic_ref(seat.taken).load(std::memory_order_acquire) == 0)
      return false;
    auto& process = processes_[rank];
    process = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, seat.pid, 0)));
    // In this order: a process that has the memory now is the one of the pidfd, also if
    // pids are used again.
    if (!process || !same_file(fd_, seat.pid, seat.fd))
      return false;
  }
  return true;
}

std::optional<std::string> RingMemory::find_loss() const {
  std::vector<pollfd> ends; // poll() passes over this member, which has no descriptor.
  for (auto& process : processes_)
    ends.push_back({.fd = process.get(), .events = POLLIN, .revents = 0});
  if (::poll(ends.data(), ends.size(), 0) <= 0)
    return std::nullopt;
  auto ended = std::ranges::find_if(ends, [](auto& end) { return end.revents != 0; });
  return "the process of rank " + std::to_string(ended - ends.begin()) + " has ended";
}

} // namespace fiber::detail
