// SPDX-License-Identifier: Apache-2.0
#include "fiber/publish.hpp"

#include <string>

#include "actors/objects/this_job.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber {

void publish(std::string_view name, double value) {
  if (actors::ThisJob::get() != nullptr)
    throw Error("publish() works in the driver only; let the task return the value, and "
                "publish it there");
  constexpr auto most = observer::SeriesStore::most_name;
  if (name.empty() || name.size() > most)
    throw ConfigError("name", "publish()", "1 to " + std::to_string(most) + " bytes",
                      "a name of " + std::to_string(name.size()) +
                        " bytes can't be used");
  detail::Runtime::require()->view().series().add(name, value);
}

} // namespace fiber
