// SPDX-License-Identifier: Apache-2.0
#include "actors/core/exit.hpp"

#include <utility>

#include <caf/make_message.hpp>

#include "fiber/detail/caf/error.hpp"

namespace fiber::actors {
namespace {

using detail::exit_category;
using detail::fiber_category;
using detail::system_category;

constexpr auto last_kind = static_cast<std::uint8_t>(ExitKind::escalated);
constexpr std::uint8_t restart_code = last_kind + 2; // The code of a kind is kind + 1.

std::string context_text(const caf::error& reason) {
  const auto& context = reason.context();
  return context.match_elements<std::string>() ? context.get_as<std::string>(0) : "";
}

/// Returns the name of an enumerator, which CAF 0.18 gives with its scope.
template <class Enum>
std::string name_of(Enum value) {
  auto name = to_string(value);
  auto scope = name.rfind(':');
  return scope == name.npos ? name : name.substr(scope + 1);
}

std::string reason_text(caf::exit_reason reason) {
  switch (reason) {
  case caf::exit_reason::normal:
    return "ended normally";
  case caf::exit_reason::user_shutdown:
    return "was asked to end";
  case caf::exit_reason::kill:
    return "was killed";
  default:
    return name_of(reason);
  }
}

} // namespace

caf::error make_exit(ExitKind kind, std::string text) {
  // A code of 0 would mean "no error" to CAF.
  return detail::make_error(
    static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind) + 1), fiber_category,
    caf::make_message(std::move(text)));
}

caf::error restart_exit() {
  return detail::make_error(
    restart_code, fiber_category,
    caf::make_message(std::string("was asked to end, to be restarted")));
}

bool is_restart_exit(const caf::error& reason) {
  return reason && reason.category() == fiber_category && reason.code() == restart_code;
}

ExitKind exit_kind(const caf::error& reason) {
  if (!reason || reason == caf::exit_reason::user_shutdown || is_restart_exit(reason))
    return ExitKind::planned;
  if (reason.category() == fiber_category && reason.code() <= last_kind + 1)
    return static_cast<ExitKind>(reason.code() - 1);
  return ExitKind::lost;
}

std::string exit_text(const caf::error& reason) {
  if (!reason)
    return reason_text(caf::exit_reason::normal);
  if (reason.category() == fiber_category)
    return context_text(reason);
  if (reason.category() == exit_category)
    return reason_text(static_cast<caf::exit_reason>(reason.code()));
  if (reason.category() == system_category) {
    auto code = static_cast<caf::sec>(reason.code());
    if (code == caf::sec::runtime_error)
      return "threw an exception"; // CAF drops what().
    auto text = context_text(reason);
    return text.empty() ? name_of(code) : name_of(code) + ": " + text;
  }
  return to_string(reason);
}

} // namespace fiber::actors
