// SPDX-License-Identifier: Apache-2.0
#include "actors/share/share_cache.hpp"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <unistd.h>

#include "actors/protocol/node_protocol.hpp"
#include "base/file_limit.hpp"
#include "base/log.hpp"
#include "fiber/detail/classic_locale.hpp"
#include "wire/digest.hpp"

namespace fiber::actors {
namespace {

/// A job that waits for a value says so again and again, so that the driver notices if
/// another job does not pass the value on.
constexpr std::chrono::seconds remind_every{30};

/// The fields of Op::shared.
struct SharedMessage {
  std::uint64_t id = 0;
  std::optional<Payload> value;
};
SharedMessage read_shared(Reader& reader, const Payload& whole) {
  SharedMessage message;
  reader.raw(share_padding);
  message.id = reader.get<std::uint64_t>();
  auto found = reader.get<bool>();
  auto bytes = reader.raw(reader.size());
  auto from = static_cast<std::size_t>(bytes.data() - whole.bytes().data());
  if (found)
    message.value = whole.slice(from, bytes.size());
  return message;
}

/// Returns a number that two processes share if each can open the other's descriptors by
/// /proc: those of one boot of a machine, one namespace of processes and one user.
std::uint64_t machine_number() {
  static const std::uint64_t number = [] {
    fiber::detail::Classic<std::ifstream> file("/proc/sys/kernel/random/boot_id");
    std::string boot;
    std::getline(file, boot);
    std::error_code unknown;
    auto processes = std::filesystem::read_symlink("/proc/self/ns/pid", unknown).string();
    if (boot.empty() || unknown)
      return std::uint64_t{0};
    return std::uint64_t{std::hash<std::string>()(boot + " " + processes + " " +
                                                  std::to_string(::geteuid()))};
  }();
  return number;
}

} // namespace

/// A value's bytes, fetched or mapped on first use.
class ShareCache::Copy {
public:
  Copy(std::uint64_t id, std::shared_ptr<wire::Link> link, std::function<void()> on_wait,
       SharedMemory::Place place)
    : id_(id), link_(std::move(link)), on_wait_(std::move(on_wait)), place_(place) {}

  std::span<const std::byte> bytes() {
    std::unique_lock lock(mutex_);
    if (!std::exchange(asked_, true)) {
      if (place_.fd >= 0)
        memory_ = SharedMemory::open(place_);
      if (memory_)
        ready_ = true;
      else
        send_op(*link_, Op::fetch, ShareFetch{.id = id_, .machine = machine_number()});
    }
    if (!ready_)
      on_wait_();
    while (!ready_)
      if (passed_)
        check_passed(lock);
      else if (changed_.wait_for(lock, remind_every) == std::cv_status::timeout)
        send_op(*link_, Op::share_waits, id_);
    if (missing_)
      throw Error(
        "a shared value is used after its last handle in the driver was dropped");
    return memory_ ? memory_->bytes() : fetched_.bytes();
  }
  void arrived(std::optional<Payload> value) {
    std::lock_guard lock(mutex_);
    if (!ready_) // Otherwise another job has passed it on as well.
      use(std::move(value));
  }
  void passed_on(Payload value, const detail::Digest& digest) {
    std::lock_guard lock(mutex_);
    if (ready_)
      return;
    passed_ = {std::move(value), digest};
    changed_.notify_all();
  }
  void not_passed(bool unreached) {
    std::lock_guard lock(mutex_);
    if (!ready_ && !passed_ && !checking_)
      ask_driver(unreached);
  }
  void pass_on(wire::Link& to) const {
    std::optional<Payload> value;
    {
      std::lock_guard lock(mutex_);
      if (ready_ && !missing_ && !memory_)
        value = fetched_;
    }
    send_shared(to, id_, value);
  }
  /// Maps the copy of another job of this machine, or asks to be sent the value.
  void mapped(const SharedMemory::Place& place) {
    {
      std::lock_guard lock(mutex_);
      if (ready_)
        return;
      memory_ = SharedMemory::open(place);
      ready_ = memory_ != nullptr;
      if (!ready_)
        ask_driver(false);
    }
    changed_.notify_all();
  }
  /// Puts the value, which has arrived, where others can map it.
  void share_place() {
    SharePlace at{.id = id_};
    try {
      Payload value;
      {
        std::lock_guard lock(mutex_);
        if (ready_ && !missing_ && !memory_)
          value = fetched_;
      }
      const auto bytes = value.bytes();
      if (!bytes.empty() && may_make_file(bytes.size() + sizeof at.place.tag)) {
        auto memory = std::make_unique<SharedMemory>(bytes);
        at.place = memory->place();
        std::lock_guard lock(mutex_);
        for_others_ = std::move(memory);
      }
    } catch (const std::system_error& error) {
      log().debug("a shared value is sent to each job of this machine: {}", error.what());
    }
    send_op(*link_, Op::share_place, at);
  }
  SharedMemory::Place place() const {
    std::lock_guard lock(mutex_);
    return place_;
  }
  /// Sets where the bytes can be mapped, if no earlier handle had that.
  void offer(const SharedMemory::Place& place) {
    std::lock_guard lock(mutex_);
    if (!asked_ && place_.fd < 0)
      place_ = place;
  }
  wire::Link& link() const { return *link_; }

  std::weak_ptr<Handle> handle; ///< Guarded by the cache's mutex.

private:
  struct Passed {
    Payload value;
    detail::Digest digest;

    bool is_right() const {
      try {
        return wire::digest_of(value.bytes()) == digest;
      } catch (const Error&) {
        return false; // The driver sends the value.
      }
    }
  };

  void use(std::optional<Payload> value) {
    ready_ = true;
    missing_ = !value;
    passed_.reset();
    if (value)
      fetched_ = std::move(*value);
    if (fetched_.size() >= min_mapped)
      send_op(*link_, Op::share_arrived, id_);
    changed_.notify_all();
  }
  /// Uses what another job has passed on, if it is the value. Unlocks meanwhile, since
  /// the value may be large.
  void check_passed(std::unique_lock<std::mutex>& lock) {
    auto passed = *std::exchange(passed_, std::nullopt);
    checking_ = true;
    lock.unlock();
    const auto right = passed.is_right();
    lock.lock();
    checking_ = false;
    if (ready_)
      return;
    if (right)
      return use(std::move(passed.value));
    log().warn("another job has passed on a shared value that is not what the driver "
               "shares: the driver sends it");
    ask_driver(false);
  }
  void ask_driver(bool unreached) {
    if (!std::exchange(driver_asked_, true))
      send_op(*link_, Op::fetch, ShareFetch{.id = id_, .unreached = unreached ? 1U : 0U});
  }

  std::uint64_t id_;
  std::shared_ptr<wire::Link> link_;
  std::function<void()> on_wait_;
  SharedMemory::Place place_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool asked_ = false, ready_ = false, missing_ = false;
  std::optional<Passed> passed_; ///< Not checked yet.
  bool checking_ = false;        ///< A thread checks what was passed on.
  bool driver_asked_ = false;    ///< For the value, in place of another job.
  Payload fetched_;
  std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<SharedMemory> for_others_; // A copy of `fetched_`.
};

/// Shared by all of this job's handles to a value. The driver keeps the value while it
/// lives.
class ShareCache::Handle final : public detail::SharedObject {
public:
  Handle(std::uint64_t id, std::shared_ptr<Copy> copy) : id_(id), copy_(std::move(copy)) {
    send_op(copy_->link(), Op::retain, id_);
  }
  ~Handle() override { send_op(copy_->link(), Op::release, id_); }
  std::uint64_t id() const override { return id_; }
  std::span<const std::byte> bytes() override { return copy_->bytes(); }
  void pack_place(Writer& writer) const override { writer.put(copy_->place()); }

private:
  std::uint64_t id_;
  std::shared_ptr<Copy> copy_;
};

ShareCache& ShareCache::instance() {
  static auto* cache =
    new ShareCache; // Never destroyed: static objects may have handles.
  return *cache;
}

void ShareCache::connect(std::shared_ptr<wire::Link> link,
                         std::function<void()> on_wait) {
  std::lock_guard lock(mutex_);
  link_ = std::move(link);
  on_wait_ = std::move(on_wait);
}

bool ShareCache::connected() const {
  std::lock_guard lock(mutex_);
  return link_ != nullptr;
}

std::shared_ptr<detail::SharedObject> ShareCache::handle(std::uint64_t id,
                                                         Reader& reader) {
  return handle(id, reader.get<SharedMemory::Place>());
}

std::shared_ptr<detail::SharedObject> ShareCache::hold(std::uint64_t id) {
  return handle(id, SharedMemory::Place{});
}

std::shared_ptr<detail::SharedObject>
ShareCache::handle(std::uint64_t id, const SharedMemory::Place& place) {
  std::lock_guard lock(mutex_);
  auto& copy = copies_[id];
  if (!copy)
    copy = std::make_shared<Copy>(id, link_, on_wait_, place);
  else
    copy->offer(place);
  auto handle = copy->handle.lock();
  if (!handle) {
    handle = std::make_shared<Handle>(id, copy);
    copy->handle = handle;
  }
  return handle;
}

void ShareCache::arrived(Reader& reader, const Payload& whole) {
  auto message = read_shared(reader, whole);
  if (auto copy = find(message.id))
    copy->arrived(std::move(message.value));
}

void ShareCache::passed_on(Reader& reader, const Payload& whole, std::uint64_t id,
                           const detail::Digest& digest) {
  auto message = read_shared(reader, whole);
  if (message.id != id || !message.value)
    throw Error("it does not have the shared value");
  if (auto copy = find(id))
    copy->passed_on(std::move(*message.value), digest);
}

void ShareCache::not_passed(std::uint64_t id, bool unreached) {
  if (auto copy = find(id))
    copy->not_passed(unreached);
}

void ShareCache::pass_on(std::uint64_t id, wire::Link& to) {
  if (auto copy = find(id))
    copy->pass_on(to);
  else
    send_shared(to, id, std::nullopt);
}

void ShareCache::mapped(const SharePlace& at) {
  if (auto copy = find(at.id))
    copy->mapped(at.place);
}

void ShareCache::place(std::uint64_t id) {
  if (auto copy = find(id))
    std::thread([copy] { copy->share_place(); }).detach();
}

std::shared_ptr<ShareCache::Copy> ShareCache::find(std::uint64_t id) const {
  std::lock_guard lock(mutex_);
  auto entry = copies_.find(id);
  return entry == copies_.end() ? nullptr : entry->second;
}

void ShareCache::freed(std::uint64_t id) {
  std::shared_ptr<Copy> last;
  std::lock_guard lock(mutex_);
  if (auto entry = copies_.find(id); entry != copies_.end()) {
    last = std::move(entry->second);
    copies_.erase(entry);
  }
}

} // namespace fiber::actors
