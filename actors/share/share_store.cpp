// SPDX-License-Identifier: Apache-2.0
#include "actors/share/share_store.hpp"

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <sys/resource.h>

#include "actors/share/shared_memory.hpp"
#include "base/file_limit.hpp"
#include "base/log.hpp"
#include "base/random_id.hpp"
#include "wire/digest.hpp"
#include "wire/stream_link.hpp"

namespace fiber::actors {

namespace {

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

ShareSpread::Clock::time_point now() {
  return ShareSpread::Clock::now();
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
  const auto bytes = object->bytes().size();
  std::lock_guard lock(mutex_);
  auto& entry = entries_[object->id()];
  entry.object = object;
  if (bytes >= min_mapped && bytes <= most_)
    entry.spread.emplace(object->id(), bytes, passing_);
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

std::size_t ShareStore::heard(std::uint64_t incarnation, Op op, Reader& reader,
                              const std::shared_ptr<wire::Link>& link) {
  switch (op) {
  case Op::fetch:
    return fetch(reader.get<ShareFetch>(), {incarnation, link});
  case Op::share_waits:
    return spread(reader.get<std::uint64_t>(),
                  [&](ShareSpread& spread) { return spread.waits(incarnation, now()); });
  case Op::share_arrived:
    return spread(reader.get<std::uint64_t>(), [&](ShareSpread& spread) {
      return spread.arrived(incarnation, now());
    });
  case Op::share_place: {
    auto at = reader.get<SharePlace>();
    return spread(
      at.id, [&](ShareSpread& spread) { return spread.placed(at.place, incarnation); });
  }
  case Op::share_listens: {
    auto call = read_peer_call(reader);
    const auto host = link ? wire::peer_host(*link) : "";
    const auto answer = call_to_dial(incarnation, call, host, tunnels_);
    return spread(call.share, [&](ShareSpread& spread) {
      return spread.listens(incarnation, call, answer, now());
    });
  }
  case Op::retain:
    retain(reader.get<std::uint64_t>(), {incarnation, link});
    return 0;
  case Op::release:
    release(reader.get<std::uint64_t>(), incarnation);
    return 0;
  default:
    throw Error("operation " + std::to_string(static_cast<int>(op)) +
                " is not of shared values");
  }
}

std::size_t ShareStore::fetch(const ShareFetch& wanted, const Job& job) {
  ShareSpread::Steps steps{{.kind = ShareSpread::Step::Kind::send, .to = job}};
  {
    std::lock_guard lock(mutex_);
    auto entry = entries_.find(wanted.id);
    // The job retains the value already, so that one that is not freed now stays.
    if (entry != entries_.end() && !entry->second.object.expired() &&
        entry->second.spread) {
      auto& spread = *entry->second.spread;
      steps = wanted.machine == 0 ? spread.failed(job, wanted.unreached != 0, now())
                                  : spread.wanted(job, wanted.machine, now());
    }
  }
  return take(wanted.id, steps);
}

template <class Ask>
std::size_t ShareStore::spread(std::uint64_t id, Ask ask) {
  ShareSpread::Steps steps;
  {
    std::lock_guard lock(mutex_);
    auto entry = entries_.find(id);
    if (entry != entries_.end() && entry->second.spread)
      steps = ask(*entry->second.spread);
  }
  return take(id, steps);
}

std::size_t ShareStore::take(std::uint64_t id, const ShareSpread::Steps& steps) {
  using Kind = ShareSpread::Step::Kind;
  std::size_t sent = 0;
  for (auto& step : steps) {
    if (step.kind == Kind::digest)
      make_digest(id);
    auto link = step.to.link.lock();
    if (!link)
      continue;
    if (step.kind == Kind::send)
      sent += send(id, *link);
    else if (step.kind == Kind::place)
      send_op(*link, Op::share_memory, id);
    else if (step.kind == Kind::map)
      send_op(*link, Op::share_mapped, SharePlace{.id = id, .place = step.place});
    else
      send_op(*link, step.kind == Kind::listen ? Op::peer_listen : Op::peer_dial,
              step.call);
  }
  return sent;
}

/// On a thread of its own, since the value may be large.
void ShareStore::make_digest(std::uint64_t id) {
  auto make = [weak = weak_from_this(), object = find(id), id] {
    if (!object)
      return;
    try {
      auto& digest = object->digest(wire::digest_of);
      if (auto store = weak.lock())
        store->spread(id, [&](ShareSpread& spread) { return spread.digested(digest); });
    } catch (const Error& error) { // The jobs that wait for it are sent the value.
      log().warn("a shared value is not passed on: {}", error.what());
    }
  };
  try {
    std::thread(make).detach();
  } catch (const std::system_error&) {
    make();
  }
}

std::size_t ShareStore::send(std::uint64_t id, wire::Link& link) {
  auto object = find(id);
  if (object && object->bytes().size() > most_) {
    log().error(
      "a shared array of {} bytes is too large to be sent: the limit is {} bytes",
      object->bytes().size(), most_);
    object = nullptr;
  }
  if (!object) {
    send_shared(link, id, std::nullopt);
    return 0;
  }
  auto bytes = object->bytes();
  send_shared(link, id, Payload(object, bytes));
  return bytes.size();
}

void ShareStore::retain(std::uint64_t id, const Job& job) {
  std::lock_guard lock(mutex_);
  auto entry = entries_.find(id);
  if (entry == entries_.end())
    return;
  auto object = entry->second.object.lock();
  if (!object)
    return;
  entry->second.copies[job.incarnation] = job.link;
  auto& retained = retained_[job.incarnation][id];
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

void ShareStore::job_fenced(std::uint64_t incarnation) {
  std::map<std::uint64_t, ShareSpread::Steps> steps;
  {
    std::lock_guard lock(mutex_);
    for (auto& [id, entry] : entries_) {
      entry.copies.erase(incarnation);
      if (entry.spread)
        steps[id] = entry.spread->gone(incarnation, now());
    }
  }
  for (auto& [id, some] : steps)
    take(id, some);
}

void ShareStore::job_gone(std::uint64_t incarnation) {
  std::map<std::uint64_t, Retained> last;
  {
    std::lock_guard lock(mutex_);
    if (auto job = retained_.find(incarnation); job != retained_.end()) {
      last = std::move(job->second);
      retained_.erase(job);
    }
  }
  job_fenced(incarnation);
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
    if (auto link = weak.lock())
      send_op(*link, Op::freed, id);
}

} // namespace fiber::actors
