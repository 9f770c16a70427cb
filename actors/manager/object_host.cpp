// SPDX-License-Identifier: Apache-2.0
#include "actors/manager/object_host.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "actors/crash/crash_handler.hpp"
#include "actors/objects/this_job.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "base/failure.hpp"
#include "base/forked_child.hpp"
#include "base/log.hpp"
#include "base/what.hpp"

namespace fiber::actors {
namespace {

/// Calls on one object before other objects get their turn.
constexpr std::size_t max_calls_per_turn = 16;

/// The host whose call runs on this thread.
thread_local ObjectHost* current_host = nullptr;

/// Returns whether this request stops the host at once, without waiting for its turn,
/// which would come only after the running call.
bool is_stop_at_once(const Payload& request) {
  Reader reader(request.bytes());
  reader.get<std::uint64_t>();
  return reader.rest().size() >= sizeof(detail::ObjectOp) + sizeof(bool) &&
         reader.get<detail::ObjectOp>() == detail::ObjectOp::stop && reader.get<bool>();
}

} // namespace

ObjectHost::ObjectHost(std::size_t threads, std::shared_ptr<ObjectSpace> objects,
                       std::shared_ptr<wire::Leadership> leadership)
  : threads_(threads), objects_(std::move(objects)), leadership_(std::move(leadership)) {}

ObjectHost::~ObjectHost() = default;

// -- requests --

void ObjectHost::asked(ObjectAsk ask) {
  if (ask.what == AskKind::cancel)
    return cancel(ask.who);
  if (ask.what == AskKind::took) {
    detail::KeptObjects last;
    std::lock_guard lock(mutex_);
    last = answers_.took(ask.who);
    return;
  }
  if (ask.what != AskKind::call || ask.body.size() < sizeof(std::uint64_t))
    return objects_->answer(ask.who, {});
  if (is_stop_at_once(ask.body)) {
    Request request{ask.who, std::move(ask.body), {}};
    Strand none(0);
    execute(none, request);
  } else if (!enqueue(ask))
    give_back(ask.who, std::move(ask.body), std::move(ask.kept));
}

bool ObjectHost::enqueue(ObjectAsk& ask) {
  auto number = Reader(ask.body.bytes()).get<std::uint64_t>();
  std::lock_guard lock(mutex_);
  if (stopping_)
    return false;
  auto& strand = strands_[number];
  if (!strand)
    strand = std::make_shared<Strand>(number, ++strand_count_);
  strand->requests.push_back({ask.who, std::move(ask.body), std::move(ask.kept)});
  if (!std::exchange(strand->busy, true)) {
    ready_.push_back(strand);
    wake_locked();
  }
  return true;
}

void ObjectHost::gone(std::uint64_t process) {
  std::vector<detail::KeptObjects> last;
  std::lock_guard lock(mutex_);
  last = answers_.gone(process);
}

void ObjectHost::cancel(const Asker& who) {
  std::optional<Request> found;
  {
    std::lock_guard lock(mutex_);
    for (auto& [number, strand] : strands_) {
      auto& requests = strand->requests;
      auto found_at = std::find_if(requests.begin(), requests.end(),
                                   [&](auto& request) { return request.who == who; });
      if (found_at == requests.end())
        continue;
      found = std::move(*found_at);
      requests.erase(found_at);
      break;
    }
  }
  if (found)
    objects_->answer(who, {.what = Answer::cancelled});
}

void ObjectHost::stop() {
  std::deque<Request> last; // Answered, as running calls may wait for these.
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [number, strand] : strands_)
      for (auto& request : std::exchange(strand->requests, {}))
        last.push_back(std::move(request));
    for (auto* waiter : idle_threads_)
      waiter->wake();
    if (runner_)
      runner_->wake();
  }
  for (auto& request : last)
    give_back(request.who, std::move(request.body), std::move(request.kept));
}

void ObjectHost::give_back(const Asker& who, Payload body, detail::KeptObjects kept) {
  objects_->answer(
    who, {.what = Answer::unbegun, .body = std::move(body), .kept = std::move(kept)});
}

bool ObjectHost::destroy_stopped() {
  std::unique_lock lock(mutex_);
  if (!stopping_)
    return false;
  auto last = take_idle_locked();
  lock.unlock();
  destroy(last);
  return true;
}

std::vector<ObjectHost::StrandPtr> ObjectHost::take_idle_locked() {
  std::vector<StrandPtr> idle;
  std::erase_if(strands_, [&](auto& each) {
    auto found = !each.second->running;
    if (found)
      idle.push_back(std::move(each.second));
    return found;
  });
  std::ranges::sort(idle, std::greater(), &Strand::position);
  return idle;
}

void ObjectHost::destroy(const std::vector<StrandPtr>& strands) {
  for (auto& strand : strands) {
    if (told_to_stop_ && strand->object)
      try {
        strand->object->stopping();
      } catch (const std::exception& error) {
        log().warn("on_stop() of an object threw: {}", what_of(error));
      } catch (...) {
        log().warn("on_stop() of an object threw");
      }
    strand->object.reset();
  }
}

// -- threads --

void ObjectHost::run() {
  {
    std::lock_guard lock(mutex_);
    runner_ = std::make_unique<wire::Waiter>();
    for (auto waiting = ready_.size(); waiting > 0; --waiting)
      wake_locked();
  }
  auto over = [this] {
    std::lock_guard lock(mutex_);
    return stopping_ && thread_count_ == 0;
  };
  while (!over())
    runner_->wait();
  std::unique_lock lock(mutex_);
  auto last = take_idle_locked();
  lock.unlock();
  destroy(last);
}

/// Wakes an idle thread or starts one. Threads end when there are more than needed, which
/// happens when the calls of paused threads go on.
void ObjectHost::wake_locked() {
  if (!idle_threads_.empty()) {
    idle_threads_.back()->wake();
    idle_threads_.pop_back();
    return;
  }
  if (!runner_ || thread_count_ >= threads_ + paused_)
    return;
  ++thread_count_;
  std::thread([self = shared_from_this()] { self->work(); }).detach();
}

void ObjectHost::work() {
  CrashHandlerStack for_crashes;
  std::unique_lock lock(mutex_);
  while (!stopping_ && thread_count_ <= threads_ + paused_) {
    if (step_locked(lock))
      continue;
    wire::Waiter waiter(leadership_);
    idle_threads_.push_back(&waiter);
    lock.unlock();
    waiter.wait();
    lock.lock();
    std::erase(idle_threads_, &waiter); // stop() wakes threads without removing them.
  }
  --thread_count_;
  if (!ready_.empty() && !stopping_)
    wake_locked();
  runner_->wake();
}

bool ObjectHost::step() {
  std::unique_lock lock(mutex_);
  return step_locked(lock);
}

bool ObjectHost::step_locked(std::unique_lock<std::mutex>& lock) {
  if (ready_.empty())
    return false;
  auto strand = std::move(ready_.front());
  ready_.pop_front();
  strand->running = true;
  auto detached = strand->object && strand->object->detached();
  lock.unlock();
  if (detached) // The thread of a detached object does not count.
    pause(true);
  run_strand(*strand);
  if (detached)
    pause(false);
  lock.lock();
  strand->running = false;
  if (strand->requests.empty())
    strand->busy = false;
  else
    ready_.push_back(std::move(strand));
  return true;
}

ObjectHost::Pause::Pause() : host_(current_host) {
  if (host_ != nullptr)
    host_->pause(true);
}

ObjectHost::Pause::~Pause() {
  if (host_ != nullptr)
    host_->pause(false);
}

void ObjectHost::pause(bool begins) {
  std::lock_guard lock(mutex_);
  paused_ += begins ? 1 : std::size_t(-1);
  if (begins && !ready_.empty())
    wake_locked();
}

// -- calls --

void ObjectHost::run_strand(Strand& strand) {
  auto* outer = std::exchange(current_host, this);
  for (std::size_t i = 0; i < max_calls_per_turn; ++i) {
    Request request;
    {
      std::lock_guard lock(mutex_);
      if (strand.requests.empty() || (i > 0 && stopping_))
        break;
      request = std::move(strand.requests.front());
      strand.requests.pop_front();
    }
    execute(strand, request);
  }
  current_host = outer;
}

void ObjectHost::execute(Strand& strand, Request& request) {
  try {
    Reader reader(request.body.bytes());
    reader.get<std::uint64_t>(); // The number of its strand.
    switch (reader.get<detail::ObjectOp>()) {
    case detail::ObjectOp::create:
      return create(strand, reader, request, false);
    case detail::ObjectOp::remake:
      return create(strand, reader, request, true);
    case detail::ObjectOp::call:
    case detail::ObjectOp::repeat:
      return call(strand, reader, request);
    case detail::ObjectOp::destroy: {
      strand.object.reset();
      {
        std::lock_guard lock(mutex_);
        strands_.erase(strand.number);
      }
      return reply(request.who, {.what = Answer::done});
    }
    case detail::ObjectOp::restore: {
      auto open = detail::unpack_function<detail::Open>(reader, detail::CodeKind::open);
      Bytes ignored;
      Writer result(ignored);
      Reader none{std::span<const std::byte>()};
      open(reader)->run(none, result);
      return reply(request.who, {.what = Answer::done});
    }
    case detail::ObjectOp::stop: {
      reader.get<bool>(); // At once: see asked().
      std::unique_lock lock(mutex_);
      told_to_stop_ = true;
      lock.unlock();
      stop();
    }
      return reply(request.who, {.what = Answer::done});
    case detail::ObjectOp::ready:
      break;
    }
    throw Error("a manager's job does not know this request");
  } catch (...) {
    fail(request.who);
  }
}

void ObjectHost::create(Strand& strand, Reader& reader, const Request& request,
                        bool remade) {
  auto make =
    detail::unpack_function<detail::MakeObject>(reader, detail::CodeKind::make_object);
  auto object = make(reader);
  if (remade)
    object->restarted();
  {
    std::lock_guard lock(mutex_);
    strand.object = std::move(object);
  }
  reply(request.who, {.what = Answer::done}, Haste::soon);
}

void ObjectHost::call(Strand& strand, Reader& reader, const Request& request) {
  auto run =
    detail::unpack_function<detail::CallObject>(reader, detail::CodeKind::call_object);
  if (!strand.object)
    throw Error("the object is not there: its constructor threw");
  Bytes value;
  Writer writer(value);
  detail::KeepScope handles;
  strand.object->run(run, reader, writer);
  check_size(value.size());
  ObjectAnswer answer{
    .what = Answer::value, .body = Payload(std::move(value)), .kept = handles.take()};
  if (!answer.kept.empty()) {
    std::lock_guard lock(mutex_);
    answers_.keep(request.who, answer.kept);
  }
  reply(request.who, std::move(answer), Haste::soon);
}

/// Replies after the messages that the call has sent.
void ObjectHost::reply(const Asker& who, ObjectAnswer answer, Haste haste) {
  end_if_forked_child("a call of an object");
  objects_->settle_others(who.process);
  objects_->answer(who, std::move(answer), haste);
}

/// Replies with the exception that is being handled.
void ObjectHost::fail(const Asker& who) {
  Bytes bytes;
  Writer writer(bytes);
  write(writer, capture_failure());
  reply(who, {.what = Answer::failed, .body = Payload(std::move(bytes))});
}

// -- as a task --

namespace {

class HostBody final : public detail::Body {
public:
  void run(Reader& arguments, Writer&) override {
    auto threads = arguments.get<std::uint64_t>();
    auto id = arguments.get<detail::HeldId>();
    auto* job = ThisJob::get();
    auto control = job->objects->handle(id);
    auto host = std::make_shared<ObjectHost>(static_cast<std::size_t>(threads),
                                             job->objects, job->leadership);
    auto root = job->objects->add(host);
    Bytes ready;
    Writer writer(ready);
    writer.put(std::uint64_t{0});
    writer.put(detail::ObjectOp::ready);
    job->objects->ask(id, AskKind::call, Payload(std::move(ready)), {root},
                      [](std::uint64_t, const auto&) {});
    host->run();
  }
};

} // namespace

std::unique_ptr<detail::Body> open_object_host(Reader&) {
  return std::make_unique<HostBody>();
}

Bytes pack_host_arguments(std::size_t threads, const detail::HeldId& control) {
  Bytes bytes;
  Writer writer(bytes);
  writer.put(static_cast<std::uint64_t>(threads));
  writer.put(control);
  return bytes;
}

} // namespace fiber::actors
