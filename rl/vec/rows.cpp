// SPDX-License-Identifier: Apache-2.0
#include "rl/vec/rows.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <random>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fiber::rl::vec {

using detail::SharedPlace;

namespace rows_memory {
namespace {

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// Closes a descriptor at the end of its scope.
class Closing {
public:
  explicit Closing(int fd) : fd_(fd) {}
  ~Closing() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;

private:
  int fd_;
};

} // namespace
} // namespace rows_memory

void wait_while(const Word& word, std::uint32_t value,
                std::chrono::steady_clock::time_point limit, std::uint32_t bits) {
  const auto since_boot = std::chrono::nanoseconds(limit.time_since_epoch());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
  timespec until{};
  until.tv_sec = seconds.count();
  until.tv_nsec = (since_boot - seconds).count();
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, value, &until, nullptr, bits);
}

void wake(const Word& word, std::uint32_t bits) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, INT_MAX, nullptr, nullptr, bits);
}

Rows::Rows(const RowsShape& shape, bool shared) : shape_(shape) {
  using namespace rows_memory;
  lay_out();
  if (!shared) {
    if (!map(-1))
      fail("can't get memory for the rows of a VecEnv");
  } else {
    place_ = {.pid = ::getpid(),
              .fd = ::memfd_create("fiber-vec-env", MFD_CLOEXEC | MFD_ALLOW_SEALING),
              .size = size_};
    if (place_.fd < 0)
      fail("can't make shared memory for a VecEnv");
    if (::ftruncate(place_.fd, static_cast<off_t>(size_)) != 0 ||
        ::fcntl(place_.fd, F_ADD_SEALS, seals) != 0 || !map(place_.fd)) {
      const auto error = errno;
      ::close(place_.fd);
      errno = error;
      fail("can't map shared memory for a VecEnv");
    }
    std::random_device random;
    for (auto& word : place_.tag)
      word = (std::uint64_t{random()} << 32) | random();
  }
  meeting().tag = place_.tag;
  meeting().shape = shape_;
}

std::unique_ptr<Rows> Rows::open(const SharedPlace& place) {
  using namespace rows_memory;
  if (place.pid == ::getpid())
    return nullptr; // The driver itself, or a process of another name space.
  const auto path =
    "/proc/" + std::to_string(place.pid) + "/fd/" + std::to_string(place.fd);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return nullptr;
  const Closing closing(fd);
  struct stat status {};
  const auto found = ::fcntl(fd, F_GET_SEALS); // Fails unless it is a memfd.
  if (found < 0 || (found & seals) != seals || ::fstat(fd, &status) != 0 ||
      static_cast<std::size_t>(status.st_size) != place.size ||
      place.size < sizeof(Meeting))
    return nullptr; // On another machine the path may lead to anything.
  std::unique_ptr<Rows> rows(new Rows);
  rows->size_ = place.size;
  if (!rows->map(fd) || rows->meeting().tag != place.tag)
    return nullptr;
  rows->shape_ = rows->meeting().shape;
  rows->lay_out();
  const auto fits = std::exchange(rows->size_, place.size) == place.size;
  return fits ? std::move(rows) : nullptr;
}

Rows::~Rows() {
  if (data_ != nullptr)
    ::munmap(data_, size_);
  if (place_.fd >= 0)
    ::close(place_.fd);
}

void Rows::lay_out() {
  std::size_t end = 0;
  auto take = [&end](std::size_t bytes) {
    constexpr std::size_t line = 128;
    const auto begin = (end + line - 1) / line * line;
    end = begin + bytes;
    return begin;
  };
  const auto observations = shape_.envs * shape_.observation_size * sizeof(float);
  take(sizeof(Meeting));
  doors_ = take(shape_.jobs * sizeof(Door));
  cells_ = take(shape_.envs * sizeof(Cell));
  actions_ = take(shape_.envs * shape_.action_size * sizeof(float));
  observations_ = take(observations);
  finals_ = take(observations);
  masks_ = take(shape_.envs * shape_.mask_size);
  errors_ = take(shape_.envs * error_size); // Pages that nobody writes cost nothing.
  size_ = end;
}

bool Rows::map(int fd) {
  const auto flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  auto* mapped = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (mapped == MAP_FAILED)
    return false;
  data_ = static_cast<std::byte*>(mapped);
  return true;
}

void Rows::set_error(std::size_t id, const std::string& text) {
  // Of a long text the end matters, too: a traceback ends with what was raised.
  const auto room = error_size - 1;
  const std::string gap = "\n...\n";
  const auto kept = text.size() <= room
                      ? text
                      : text.substr(0, room / 4) + gap +
                          text.substr(text.size() - (room - room / 4 - gap.size()));
  auto* out = at<char>(errors_) + id * error_size;
  std::ranges::copy(kept, out);
  out[kept.size()] = '\0';
}

std::string Rows::error(std::size_t id) {
  const auto* text = at<char>(errors_) + id * error_size;
  return {text, ::strnlen(text, error_size)};
}

} // namespace fiber::rl::vec
