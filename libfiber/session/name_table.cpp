// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/name_table.hpp"

#include <typeinfo>
#include <utility>
#include <vector>

#include "actors/objects/this_job.hpp"
#include "base/demangle.hpp"
#include "fiber/supervisor.hpp"
#include "libfiber/manager/ref_core.hpp"
#include "libfiber/objects/object_core.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {

bool NameTable::reserve(const std::string& name) {
  std::lock_guard lock(mutex_);
  return entries_.try_emplace(name).second;
}

bool NameTable::set(const std::string& name, Entry entry) {
  std::lock_guard lock(mutex_);
  auto known = entries_.find(name);
  if (known == entries_.end())
    return false;
  std::swap(known->second, entry);
  return true;
}

void NameTable::remove(const std::string& name) {
  Entry last; // The ends of handles send messages.
  std::lock_guard lock(mutex_);
  if (auto known = entries_.find(name); known != entries_.end()) {
    last = std::move(known->second);
    entries_.erase(known);
  }
}

std::optional<NameTable::Entry> NameTable::find(const std::string& name) const {
  std::lock_guard lock(mutex_);
  auto known = entries_.find(name);
  if (known == entries_.end() || !known->second.object)
    return std::nullopt;
  return known->second;
}

void NameTable::asked(actors::ObjectAsk ask) {
  using actors::Answer;
  if (ask.what == actors::AskKind::took) {
    KeptObjects last;
    std::lock_guard lock(mutex_);
    last = answers_.took(ask.who);
    return;
  }
  if (ask.what != actors::AskKind::call)
    return; // It will be answered anyhow.
  std::optional<Entry> found;
  try {
    found = find(Reader(ask.body.bytes()).text());
  } catch (const std::exception& error) {
    return space_->refuse(ask.who, error.what());
  }
  if (!found)
    return space_->answer(ask.who, {.what = Answer::done});
  Bytes body;
  Writer(body).text(found->type);
  KeptObjects kept{found->object};
  {
    std::lock_guard lock(mutex_);
    answers_.keep(ask.who, kept);
  }
  space_->answer(
    ask.who,
    {.what = Answer::value, .body = Payload(std::move(body)), .kept = std::move(kept)});
}

void NameTable::gone(std::uint64_t process) {
  std::vector<KeptObjects> last;
  std::lock_guard lock(mutex_);
  last = answers_.gone(process);
}

void NameTable::close() {
  std::map<std::string, Entry> last;
  std::lock_guard lock(mutex_);
  last.swap(entries_);
}

// -- who asks --

namespace {

/// A job's way to the table of its driver.
class NameCore final : public ObjectCore {
public:
  explicit NameCore(const ObjectPlace& place)
    : ObjectCore(place, place.objects->handle(NameTable::id)) {}

  std::optional<NameTable::Entry> find(const std::string& name) {
    auto body = PackedItem::of([&](Writer& writer) { writer.text(name); });
    auto asked = ask(actors::AskKind::call, std::move(body), Results::forever);
    auto& answer = asked->answer;
    if (answer.what == actors::Answer::done)
      return std::nullopt;
    Reader reader(answer.body.bytes());
    if (answer.what == actors::Answer::refused)
      throw Error(reader.text());
    if (answer.what != actors::Answer::value || answer.kept.empty())
      fail_closed();
    place_.objects->tell(id(), asked->request, actors::AskKind::took);
    return NameTable::Entry{reader.text(),
                            place_.objects->handle(answer.kept.front()->held_id())};
  }

private:
  [[noreturn]] void fail_closed() const override {
    throw Closed("the session has ended");
  }
};

} // namespace

std::optional<ObjectRef> find_object(const std::string& name,
                                     const std::type_info& type) {
  auto place = ObjectPlace::here();
  std::optional<NameTable::Entry> found;
  if (place.runtime) {
    place.check_open();
    found = place.runtime->names().find(name);
  } else {
    found = std::make_shared<NameCore>(place)->find(name);
    // A job may have a session of its own besides.
    if (auto own = Runtime::current(); !found && own) {
      place = ObjectPlace::of(own);
      found = place.runtime->names().find(name);
    }
  }
  if (!found || !found->object)
    return std::nullopt;
  if (found->type != type.name())
    throw Error("\"" + name + "\" is a " + actors::demangle(found->type.c_str()) +
                ", and a " + actors::demangle(type.name()) + " was asked for");
  return ObjectRef(RefCore::of(place, found->object));
}

} // namespace fiber::detail
