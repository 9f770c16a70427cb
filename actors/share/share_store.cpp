// SPDX-License-Identifier: Apache-2.0
#include "actors/share/share_store.hpp"

#include <array>
#include <system_error>
#include <utility>

#include <sys/resource.h>

#include "actors/share/shared_memory.hpp"
#include "base/file_limit.hpp"
#include "base/log.hpp"
#include "base/random_id.hpp"

namespace fiber::actors {

namespace {

/// From this size on, a value costs less as memory that jobs map than as messages.
constexpr std::size_t min_mapped = 64 * 1024;

/// Copies a packed value into memory that jobs of this machine can map. Null if it is too
/// small for that, or if there is no memory or descriptor: then it is sent to them.
std::unique_ptr<SharedMemory> mapped(const Bytes& packed) {
  const auto all = packed.size() + sizeof(SharedMemory::Place::tag);
  if (packed.size() < min_mapped || !may_make_file(all))
    return nullptr;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  try {
    auto memory = std::make_unique<SharedMemory>(packed);
    // Half of the descriptors remain for links and jobs.
    if (static_cast<rlim_t>(memory->place().fd) < files.rlim_cur / 2)
      return memory;
    return nullptr;
  } catch (const std::system_error& error) {
    log().warn("a shared value of {} bytes is sent to each job: {}", packed.size(),
               error.what());
    return nullptr;
  }
}

template <class Field>
void answer(wire::Link& link, Op op, const Field& field) {
  Bytes head;
  Writer writer(head);
  write(writer, op);
  writer.put(field);
  link.send(share_stream, std::move(head));
}

} // namespace

class ShareStore::Object final : public detail::SharedObject {
public:
  Object(std::uint64_t id, std::weak_ptr<ShareStore> store, Bytes packed)
    : id_(id), store_(std::move(store)), memory_(mapped(packed)) {
    if (!memory_)
      packed_ = std::move(packed);
  }
  Object(std::uint64_t id, std::weak_ptr<ShareStore> store,
         std::span<const std::byte> array)
    : id_(id), store_(std::move(store)), memory_(std::make_unique<SharedMemory>(array)) {}
  ~Object() override {
    if (auto store = store_.lock())
      store->freed(id_);
  }

  std::uint64_t id() const override { return id_; }
  std::span<const std::byte> bytes() override {
    return memory_ ? memory_->bytes() : packed_;
  }
  void pack_place(Writer& writer) const override {
    writer.put(memory_ ? memory_->place() : SharedMemory::Place{});
  }

private:
  std::uint64_t id_;
  std::weak_ptr<ShareStore> store_;
  Bytes packed_;
  std::unique_ptr<SharedMemory> memory_;
};

std::shared_ptr<ShareStore::Object> ShareStore::enter(std::shared_ptr<Object> object) {
  std::lock_guard lock(mutex_);
  entries_[object->id()].object = object;
  return object;
}

std::shared_ptr<detail::SharedObject> ShareStore::add(Bytes packed,
                                                      std::shared_ptr<const void> value) {
  check_size(packed.size(), most_);
  auto object =
    std::make_shared<Object>(secret_number(), weak_from_this(), std::move(packed));
  object->preset(std::move(value));
  return enter(std::move(object));
}

std::shared_ptr<detail::SharedObject>
ShareStore::add_array(std::span<const std::byte> bytes) {
  return enter(std::make_shared<Object>(secret_number(), weak_from_this(), bytes));
}

std::shared_ptr<detail::SharedObject> ShareStore::find(std::uint64_t id) {
  std::lock_guard lock(mutex_);
  auto entry = entries_.find(id);
  return entry == entries_.end() ? nullptr : entry->second.object.lock();
}

std::size_t ShareStore::fetch(const ShareFetch& wanted, std::uint64_t incarnation,
                              const std::shared_ptr<wire::Link>& link) {
  if (share_within_machine(wanted, {incarnation, link}))
    return 0;
  return send(wanted.id, *link);
}

/// Returns false if the job must be sent the value.
bool ShareStore::share_within_machine(const ShareFetch& wanted, const Fetcher& fetcher) {
  std::shared_ptr<Object>
    object; // These end after the unlock: their ends may lock again.
  std::shared_ptr<wire::Link> holder;
  SharePlace at{.id = wanted.id, .machine = wanted.machine};
  {
    std::lock_guard lock(mutex_);
    auto entry = entries_.find(wanted.id);
    if (entry == entries_.end() || wanted.machine == 0)
      return false;
    object = entry->second.object.lock();
    if (!object || object->bytes().size() < min_mapped)
      return false;
    auto [copy, is_first] = entry->second.machines.try_emplace(wanted.machine);
    auto& held = copy->second;
    if (is_first) {
      held.holder = fetcher;
      return false;
    }
    at.place = held.place;
    if (at.place.fd < 0) {
      held.waiting.push_back(fetcher);
      if (!std::exchange(held.asked, true))
        holder = held.holder.link.lock();
    }
  }
  if (auto link = fetcher.link.lock(); link && at.place.fd >= 0)
    answer(*link, Op::share_mapped, at);
  else if (holder) // After the value, which was sent on the same stream.
    answer(*holder, Op::share_memory, wanted.id);
  return true;
}

void ShareStore::placed(const SharePlace& at, std::uint64_t incarnation) {
  std::vector<Fetcher> waiting;
  {
    std::lock_guard lock(mutex_);
    auto entry = entries_.find(at.id);
    if (entry == entries_.end())
      return;
    auto copy = entry->second.machines.find(at.machine);
    if (copy == entry->second.machines.end() ||
        copy->second.holder.incarnation != incarnation)
      return;
    waiting = std::move(copy->second.waiting);
    copy->second.place = at.place;
    if (at.place.fd < 0) // No memory: each job is sent the value.
      entry->second.machines.erase(copy);
  }
  for (auto& fetcher : waiting)
    if (auto link = fetcher.link.lock(); link && at.place.fd >= 0)
      answer(*link, Op::share_mapped, at);
    else if (link)
      send(at.id, *link);
}

std::size_t ShareStore::send(std::uint64_t id, wire::Link& link) {
  auto object = find(id);
  if (object && object->bytes().size() > most_) {
    log().error(
      "a shared array of {} bytes is too large to be sent: the limit is {} bytes",
      object->bytes().size(), most_);
    object = nullptr;
  }
  Bytes head;
  Writer writer(head);
  write(writer, Op::shared);
  constexpr std::array<std::byte, share_padding> padding{};
  writer.raw(padding.data(), padding.size());
  writer.put(id);
  writer.put(object != nullptr);
  if (!object) {
    writer.size(0);
    link.send(share_stream, std::move(head));
    return 0;
  }
  auto bytes = object->bytes();
  writer.size(bytes.size());
  link.send(share_stream, std::move(head), Payload(object, bytes));
  return bytes.size();
}

void ShareStore::retain(std::uint64_t id, std::uint64_t incarnation,
                        std::weak_ptr<wire::Link> link) {
  std::lock_guard lock(mutex_);
  auto entry = entries_.find(id);
  if (entry == entries_.end())
    return;
  auto object = entry->second.object.lock();
  if (!object)
    return;
  entry->second.copies[incarnation] = std::move(link);
  auto& retained = retained_[incarnation][id];
  ++retained.count;
  retained.object = std::move(object);
}

void ShareStore::release(std::uint64_t id, std::uint64_t incarnation) {
  std::shared_ptr<Object> last; // Destroyed after the unlock: its destructor locks again.
  std::lock_guard lock(mutex_);
  auto job = retained_.find(incarnation);
  if (job == retained_.end())
    return;
  auto retained = job->second.find(id);
  if (retained == job->second.end() || --retained->second.count > 0)
    return;
  last = std::move(retained->second.object);
  job->second.erase(retained);
}

void ShareStore::job_gone(std::uint64_t incarnation) {
  std::map<std::uint64_t, Retained> last;
  std::vector<std::pair<std::uint64_t, Fetcher>> waiting; // Their copy is gone.
  {
    std::lock_guard lock(mutex_);
    if (auto job = retained_.find(incarnation); job != retained_.end()) {
      last = std::move(job->second);
      retained_.erase(job);
    }
    for (auto& [id, entry] : entries_) {
      entry.copies.erase(incarnation);
      std::erase_if(entry.machines, [&, id = id](auto& machine) {
        if (machine.second.holder.incarnation != incarnation)
          return false;
        for (auto& fetcher : machine.second.waiting)
          waiting.emplace_back(id, fetcher);
        return true;
      });
    }
  }
  // None becomes the holder: it may be gone as well.
  for (auto& [id, fetcher] : waiting)
    if (auto link = fetcher.link.lock())
      send(id, *link);
}

void ShareStore::freed(std::uint64_t id) {
  std::map<std::uint64_t, std::weak_ptr<wire::Link>> copies;
  {
    std::lock_guard lock(mutex_);
    auto entry = entries_.find(id);
    if (entry == entries_.end())
      return;
    copies = std::move(entry->second.copies);
    entries_.erase(entry);
  }
  for (auto& [incarnation, weak] : copies)
    if (auto link = weak.lock()) {
      Bytes head;
      Writer writer(head);
      write(writer, Op::freed, id);
      link->send(task_stream, std::move(head));
    }
}

} // namespace fiber::actors
