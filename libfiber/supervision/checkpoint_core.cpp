// SPDX-License-Identifier: Apache-2.0
#include "libfiber/supervision/checkpoint_core.hpp"

#include <filesystem>
#include <utility>

#include "fiber/detail/type_identity.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/runtime.hpp"
#include "libfiber/session/work_thread.hpp"

namespace fiber::detail {
namespace {

constexpr const char* handle_name = "a Checkpoint";

/// Never destroyed, because tasks may still run while the job exits.
WorkThread& work_thread_of_job() {
  static auto* thread = new WorkThread; // NOLINT(cppcoreguidelines-owning-memory)
  return *thread;
}

} // namespace

// -- the checkpoint's home --

CheckpointHome::CheckpointHome(std::shared_ptr<actors::ObjectSpace> space,
                               std::optional<std::string> path,
                               std::function<bool(std::function<void()>)> later)
  : space_(std::move(space)), run_later_(std::move(later)) {
  if (path)
    file_.emplace(std::move(*path));
}

void CheckpointHome::asked(actors::ObjectAsk ask) {
  using actors::AskKind;
  if (ask.what == AskKind::took) {
    KeptObjects last;
    std::lock_guard lock(mutex_);
    last = answers_.took(ask.who);
    return;
  }
  if (ask.what != AskKind::call)
    return; // A cancellation: the call is answered in any case.
  if (!file_ || !run_later_)
    return run(ask);
  auto who = ask.who;
  if (!run_later_([self = shared_from_this(), ask = std::move(ask)] { self->run(ask); }))
    space_->answer(who, {});
}

void CheckpointHome::gone(std::uint64_t process) {
  std::vector<KeptObjects> last;
  std::lock_guard lock(mutex_);
  last = answers_.gone(process);
}

void CheckpointHome::run(const actors::ObjectAsk& ask) {
  try {
    handle(ask);
  } catch (const std::exception& error) {
    space_->refuse(ask.who, error.what());
  }
}

KeptObjects CheckpointHome::handle(const actors::ObjectAsk& ask) {
  Reader reader(ask.body.bytes());
  if (reader.get<CheckpointOp>() == CheckpointOp::save)
    return save(ask, reader);
  load(ask.who, reader.text());
  return {};
}

KeptObjects CheckpointHome::save(const actors::ObjectAsk& ask, Reader& reader) {
  auto handles = reader.get<bool>();
  auto type = reader.text();
  auto size = reader.rest().size();
  auto before = ask.kept;
  {
    std::lock_guard lock(mutex_);
    if (file_ && handles)
      throw Error("a " + name_in_identity(type) +
                  " can't be saved to a file: it refers to what ends with this session");
    if (file_) {
      file_->save(type, reader.rest());
    } else {
      saved_ = {std::move(type), ask.body.slice(ask.body.size() - size, size)};
      kept_.swap(before);
    }
  }
  space_->answer(ask.who, {.what = actors::Answer::done});
  return before;
}

void CheckpointHome::load(const actors::Asker& who, const std::string& type) {
  using actors::Answer;
  std::unique_lock lock(mutex_);
  auto saved = file_ ? file_->load() : saved_;
  auto kept = kept_;
  if (!saved) {
    lock.unlock();
    return space_->answer(who, {.what = Answer::done});
  }
  if (file_ ? !same_identity(saved->type, type) : saved->type != type) {
    lock.unlock();
    Bytes bytes;
    Writer(bytes).text(saved->type);
    return space_->answer(
      who, {.what = Answer::other_type, .body = Payload(std::move(bytes))});
  }
  answers_.keep(who, kept);
  lock.unlock();
  space_->answer(who, {.what = Answer::value, .body = saved->value, .kept = kept});
}

// -- the user's side --

std::shared_ptr<CheckpointCore>
CheckpointCore::of(const ObjectPlace& place,
                   const std::shared_ptr<actors::ObjectHandle>& held) {
  return held->shared_state<CheckpointCore>(
    [&] { return std::shared_ptr<CheckpointCore>(new CheckpointCore(place, held)); });
}

std::shared_ptr<CheckpointCore>
CheckpointCore::open(const ObjectPlace& place, const std::optional<std::string>& path) {
  if (path && path->empty())
    throw ConfigError("path", "Checkpoint", "the path of a file", "it is empty");
  std::function<bool(std::function<void()>)> later;
  if (!place.runtime)
    later = [](std::function<void()> f) {
      return work_thread_of_job().add(std::move(f));
    };
  else if (!place.runtime->is_inline()) // There no other thread may be free to run it.
    later = [journals = place.runtime->journals()](std::function<void()> f) {
      return journals->add(std::move(f));
    };
  std::optional<std::string> whole;
  if (path) // This process may change its working directory.
    whole = std::filesystem::absolute(*path).string();
  return of(place, place.objects->add(std::make_shared<CheckpointHome>(
                     place.objects, std::move(whole), std::move(later))));
}

void CheckpointCore::pack(Writer& writer) const {
  place_.pack(writer, held_, handle_name);
}

std::shared_ptr<CheckpointCore> CheckpointCore::unpack(Reader& reader) {
  auto [place, held] = ObjectPlace::unpack(reader, handle_name);
  return of(place, held);
}

void CheckpointCore::save(PackedItem value) {
  auto asked = ask(actors::AskKind::call, std::move(value), Results::forever);
  if (asked->answer.what != actors::Answer::done)
    fail(asked->answer);
}

std::optional<CheckpointHandle::Saved> CheckpointCore::load(const std::type_info& type) {
  using actors::Answer;
  auto body = PackedItem::of([&](Writer& writer) {
    writer.put(CheckpointOp::load);
    writer.text(type_identity(type));
  });
  auto asked = ask(actors::AskKind::call, std::move(body), Results::forever);
  auto& answer = asked->answer;
  if (answer.what == Answer::done)
    return std::nullopt;
  if (answer.what == Answer::other_type)
    throw Error(two_types(Reader(answer.body.bytes()).text(),
                          " was saved in this Checkpoint, and ", type_identity(type)) +
                " was asked for");
  if (answer.what != Answer::value)
    fail(answer);
  if (!answer.kept.empty())
    place_.objects->tell(id(), asked->request, actors::AskKind::took);
  return CheckpointHandle::Saved{std::move(answer.body), std::move(answer.kept)};
}

void CheckpointCore::fail(const actors::ObjectAnswer& answer) const {
  if (answer.what == actors::Answer::refused)
    throw Error(Reader(answer.body.bytes()).text());
  fail_closed();
}

void CheckpointCore::fail_closed() const {
  place_.check_open();
  throw Closed("a Checkpoint can't be used when the process that it lived in has ended");
}

// -- handles --

CheckpointHandle CheckpointHandle::open(const std::optional<std::string>& path,
                                        bool of_session) {
  return CheckpointHandle(CheckpointCore::open(
    of_session ? ObjectPlace::of(Runtime::require()) : ObjectPlace::here(), path));
}
void CheckpointHandle::save(PackedItem value) const {
  core_->save(std::move(value));
}
void CheckpointHandle::begin(Writer& writer, const std::type_info& type, bool handles) {
  writer.put(CheckpointOp::save);
  writer.put(handles);
  writer.text(type_identity(type));
}
std::optional<CheckpointHandle::Saved>
CheckpointHandle::load(const std::type_info& type) const {
  return core_->load(type);
}
bool CheckpointHandle::operator==(const CheckpointHandle& other) const {
  return core_->id() == other.core_->id();
}
void CheckpointHandle::fiber_pack(Writer& writer) const {
  core_->pack(writer);
}
CheckpointHandle CheckpointHandle::fiber_unpack(Reader& reader) {
  return CheckpointHandle(CheckpointCore::unpack(reader));
}

} // namespace fiber::detail
