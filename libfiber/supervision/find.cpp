// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>

#include "fiber/detail/type_identity.hpp"
#include "fiber/supervisor.hpp"
#include "libfiber/manager/ref_core.hpp"
#include "libfiber/objects/object_core.hpp"
#include "libfiber/session/name_table.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {
namespace {

/// Asks the driver's name table from a job.
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
    // A job may also have a nested session.
    if (auto own = Runtime::current(); !found && own) {
      place = ObjectPlace::of(own);
      found = place.runtime->names().find(name);
    }
  }
  if (!found || !found->object)
    return std::nullopt;
  if (auto asked = type_identity(type); found->type != asked)
    throw Error("\"" + name + "\" is " + two_types(found->type, ", and ", asked) +
                " was asked for");
  return ObjectRef(RefCore::of(place, found->object));
}

} // namespace fiber::detail
