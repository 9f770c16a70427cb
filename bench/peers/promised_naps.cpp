// SPDX-License-Identifier: Apache-2.0
#include "peers/promised_naps.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace peers {
namespace {

constexpr int in_hand = 2;
constexpr std::size_t page_bytes = 4096, read_bytes = 64 * 1024;
constexpr std::size_t stride = 1024; ///< Of the cache lines that a worker writes to.
/// The second thread wakes as often as one that sends heartbeats.
constexpr int heartbeat_ms = 625;

/// A message to a worker: this, the lengths of the arguments, and the arguments.
struct Deal {
  std::uint64_t first = 0; ///< Number of the first task.
  std::uint32_t count = 0;
};
/// A message to the driver: this, and the status and the length of each result. The
/// results themselves are empty.
struct Answer {
  std::uint64_t first = 0;
  std::uint64_t busy_ns = 0, longest_ns = 0;
  std::uint32_t count = 0;
};
struct [[gnu::packed]] Result {
  std::uint8_t status = 0;
  std::uint64_t length = 0;
};

template <class T>
void put(std::vector<char>& bytes, const T& value) {
  const auto* from = reinterpret_cast<const char*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

template <class T>
T get(const std::vector<char>& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void send(int link, const std::vector<char>& message) {
  check(::send(link, message.data(), message.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(message.size()),
        "send");
}

/// Appends what has come. False if the other side has closed the link.
bool receive(int link, std::vector<char>& bytes) {
  const auto before = bytes.size();
  bytes.resize(before + read_bytes);
  const auto got = ::recv(link, bytes.data() + before, read_bytes, 0);
  bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return got > 0;
}

class Slot {
public:
  Slot(int link, std::byte* page, std::size_t lines)
    : link_(link), page_(page), own_(lines * stride, 1) {}

  void run() {
    std::thread reader([this] { read(); });
    while (auto task = take())
      work(*task);
    reader.join();
  }

private:
  using Clock = std::chrono::steady_clock;
  struct Message {
    Deal deal;
    std::vector<std::uint64_t> lengths;
    std::vector<char> arguments;
    std::uint32_t next = 0;
    std::size_t begin = 0;
  };
  struct Task {
    std::uint64_t number = 0;
    std::int32_t us = 0;
    bool last = false; ///< Of its message.
  };

  // -- the second thread --

  void read() {
    const int events = ::epoll_create1(0);
    epoll_event event = {};
    event.events = EPOLLIN;
    ::epoll_ctl(events, EPOLL_CTL_ADD, link_, &event);
    std::vector<char> heard;
    for (;;) {
      if (::epoll_wait(events, &event, 1, heartbeat_ms) != 1)
        continue;
      if (!receive(link_, heard))
        break;
      std::size_t at = 0;
      while (auto message = parse(heard, at))
        push(std::move(*message));
      heard.erase(heard.begin(), heard.begin() + static_cast<std::ptrdiff_t>(at));
    }
    ::close(events);
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_one();
  }

  static std::optional<Message> parse(const std::vector<char>& heard, std::size_t& at) {
    if (heard.size() - at < sizeof(Deal))
      return std::nullopt;
    Message message{get<Deal>(heard, at), {}, {}};
    const std::size_t count = message.deal.count;
    const auto lengths = at + sizeof(Deal);
    const auto arguments = lengths + count * sizeof(std::uint64_t);
    const auto end = arguments + count * sizeof(std::int32_t);
    if (heard.size() < end)
      return std::nullopt;
    message.lengths.resize(count);
    std::memcpy(message.lengths.data(), heard.data() + lengths, arguments - lengths);
    message.arguments.assign(heard.begin() + static_cast<std::ptrdiff_t>(arguments),
                             heard.begin() + static_cast<std::ptrdiff_t>(end));
    at = end;
    return message;
  }

  void push(Message message) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(message));
    changed_.notify_one();
  }

  // -- the thread that runs the tasks --

  std::optional<Task> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_ || !queue_.empty(); });
    if (queue_.empty())
      return std::nullopt;
    auto& message = queue_.front();
    Task task{message.deal.first + message.next,
              get<std::int32_t>(message.arguments, message.begin)};
    message.begin += message.lengths[message.next];
    if (++message.next == message.deal.count) {
      queue_.pop_front();
      task.last = true;
    }
    return task;
  }

  void work(const Task& task) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(page_)).store(task.number);
    const auto begin = Clock::now();
    ::usleep(static_cast<useconds_t>(task.us));
    const std::chrono::nanoseconds ran = Clock::now() - begin;
    const auto ns = static_cast<std::uint64_t>(ran.count());
    volatile char* const written = own_.data();
    for (std::size_t at = 0; at < own_.size(); at += stride)
      written[at] = static_cast<char>(written[at] + 1);
    if (answer_.count++ == 0)
      answer_.first = task.number;
    answer_.busy_ns += ns;
    answer_.longest_ns = std::max(answer_.longest_ns, ns);
    put(results_, Result{});
    if (!task.last)
      return;
    std::vector<char> message;
    put(message, std::exchange(answer_, {}));
    message.insert(message.end(), results_.begin(), results_.end());
    results_.clear();
    send(link_, message);
  }

  const int link_;
  std::byte* const page_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> queue_;
  bool over_ = false;
  Answer answer_;
  std::vector<char> results_;
  std::vector<char> own_;
};

void unmap(std::byte* pages) {
  ::munmap(pages, NapWorkers::count * page_bytes);
}

std::byte* map_pages() {
  void* pages = ::mmap(nullptr, NapWorkers::count * page_bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(pages != MAP_FAILED, "mmap");
  return static_cast<std::byte*>(pages);
}

} // namespace

PromisedNaps::PromisedNaps(std::vector<std::uint32_t> chunks, std::size_t lines)
  : chunks_(std::move(chunks)), pages_(map_pages(), unmap),
    workers_([pages = pages_.get(), lines](int link, std::size_t worker) {
      Slot(link, pages + worker * page_bytes, lines).run();
    }) {}

void PromisedNaps::map(std::uint32_t naps) {
  results_.assign(naps, {});
  dealt_ = ended_ = 0;
  for (auto& worker : table_)
    worker.messages = 0;
  for (int i = 0; i < in_hand; ++i)
    for (std::size_t worker = 0; worker < NapWorkers::count; ++worker)
      deal(worker);
  while (ended_ < naps)
    for (const auto& event : workers_.ready())
      hear(event.data.u64);
}

void PromisedNaps::deal(std::size_t to) {
  auto& worker = table_[to];
  const auto chunk = chunks_[std::min(worker.messages++, chunks_.size() - 1)];
  const auto left = static_cast<std::uint32_t>(results_.size()) - dealt_;
  const auto count = std::min(chunk, left);
  if (count == 0)
    return;
  std::vector<char> message;
  put(message, Deal{worker.next, count});
  for (std::uint32_t i = 0; i < count; ++i)
    put(message, std::uint64_t{sizeof(std::int32_t)});
  for (std::uint32_t i = 0; i < count; ++i)
    put(message, std::int32_t{1000});
  worker.running.push_back({worker.next, dealt_, count});
  worker.next += count;
  dealt_ += count;
  send(workers_.link(to), message);
}

void PromisedNaps::hear(std::size_t from) {
  auto& worker = table_[from];
  if (!receive(workers_.link(from), worker.heard))
    throw std::runtime_error("a worker is lost");
  std::size_t at = 0;
  while (const auto used = take(worker, at)) {
    at += used;
    deal(from);
  }
  worker.heard.erase(worker.heard.begin(),
                     worker.heard.begin() + static_cast<std::ptrdiff_t>(at));
}

/// Takes the results of one message. Returns its size; 0 if it has not come yet.
std::size_t PromisedNaps::take(Worker& worker, std::size_t at) {
  if (worker.heard.size() - at < sizeof(Answer))
    return 0;
  const auto answer = get<Answer>(worker.heard, at);
  const auto size = sizeof(Answer) + answer.count * sizeof(Result);
  if (worker.heard.size() - at < size)
    return 0;
  for (std::uint32_t i = 0; i < answer.count; ++i) {
    if (worker.running.empty() || worker.running.front().first != answer.first + i)
      throw std::runtime_error("a result of a task that does not run");
    auto& range = worker.running.front();
    const auto result =
      get<Result>(worker.heard, at + sizeof(Answer) + i * sizeof(Result));
    results_[range.index].resize(result.length);
    ++ended_;
    ++range.first;
    ++range.index;
    if (--range.left == 0)
      worker.running.pop_front();
  }
  return size;
}

} // namespace peers
