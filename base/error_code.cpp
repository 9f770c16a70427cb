// SPDX-License-Identifier: Apache-2.0
#include <future>
#include <ios>
#include <string>
#include <system_error>

#include "fiber/value.hpp"

namespace fiber {
namespace {

/// Returns the first category of the standard library for which `match` holds, or null.
template <class Match>
const std::error_category* find_category(Match match) {
  for (auto* known : {&std::generic_category(), &std::system_category(),
                      &std::iostream_category(), &std::future_category()})
    if (match(*known))
      return known;
  return nullptr;
}

} // namespace

void detail::pack_error(Writer& writer, const std::error_category& category, int value) {
  if (find_category([&](auto& known) { return known == category; }) == nullptr)
    throw Error("an error code of the category \"" + std::string(category.name()) +
                "\" can't be sent to another process; right are the categories generic, "
                "system, iostream and future; of others send value() and message()");
  writer.text(category.name());
  writer.put(value);
}

std::pair<const std::error_category*, int> detail::unpack_error(Reader& reader) {
  auto name = reader.text();
  auto value = reader.get<int>();
  auto* category = find_category([&](auto& known) { return known.name() == name; });
  if (category == nullptr)
    throw Error("an error code has the category \"" + name +
                "\"; right are generic, system, iostream and future");
  return {category, value};
}

} // namespace fiber
