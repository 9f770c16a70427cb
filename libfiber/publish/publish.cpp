// SPDX-License-Identifier: Apache-2.0
#include "fiber/publish.hpp"

#include <memory>
#include <string>

#include "actors/objects/this_job.hpp"
#include "fiber/error.hpp"
#include "libfiber/objects/object_core.hpp"
#include "libfiber/session/name_table.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber {
namespace {

/// Sends what a job publishes to the driver.
class PublishCore final : public detail::ObjectCore {
public:
  static std::shared_ptr<PublishCore> of(const detail::ObjectPlace& place) {
    auto held = place.objects->handle(detail::NameTable::id);
    return held->shared_state<PublishCore>(
      [&] { return std::shared_ptr<PublishCore>(new PublishCore(place, held)); });
  }

  void publish(std::string_view name, double value) {
    send(actors::AskKind::put, detail::PackedItem::of([&](Writer& writer) {
           writer.text(name);
           writer.put(value);
         }),
         detail::Results::forever);
  }

private:
  using ObjectCore::ObjectCore;
  [[noreturn]] void fail_closed() const override {
    throw Closed("the session has ended");
  }
};

} // namespace

void publish(std::string_view name, double value) {
  constexpr auto most = observer::SeriesStore::max_name;
  if (name.empty() || name.size() > most)
    throw ConfigError("name", "publish()", "1 to " + std::to_string(most) + " bytes",
                      "a name of " + std::to_string(name.size()) +
                        " bytes can't be used");
  if (actors::ThisJob::get() == nullptr)
    detail::Runtime::require()->view().series().add(name, value);
  else
    PublishCore::of(detail::ObjectPlace::here())->publish(name, value);
}

} // namespace fiber
