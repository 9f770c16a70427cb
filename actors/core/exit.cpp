// SPDX-License-Identifier: Apache-2.0
#include "actors/core/exit.hpp"

#include <utility>

#include <caf/exit_reason.hpp>
#include <caf/make_message.hpp>
#include <caf/message.hpp>
#include <caf/sec.hpp>

namespace fiber::actors {
namespace {

constexpr auto category = caf::atom("fiberexit");

constexpr auto last_kind = static_cast<std::uint8_t>(ExitKind::escalated);
constexpr std::uint8_t restart_code = last_kind + 2; // The code of a kind is kind + 1.

std::string context_text(const caf::error& reason) {
  const auto& context = reason.context();
  return context.match_elements<std::string>() ? context.get_as<std::string>(0) : "";
}

std::string reason_text(caf::exit_reason reason) {
  switch (reason) {
  case caf::exit_reason::normal:
    return "ended normally";
  case caf::exit_reason::user_shutdown:
    return "was asked to end";
  case caf::exit_reason::kill:
    return "was killed";
  case caf::exit_reason::unhandled_exception:
    return "threw an exception";
  default:
    return to_string(reason);
  }
}

} // namespace

caf::error make_exit(ExitKind kind, std::string text) {
  // A code of 0 would mean "no error" to CAF.
  return {static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind) + 1), category,
          caf::make_message(std::move(text))};
}

caf::error restart_exit() {
  return {restart_code, category,
          caf::make_message(std::string("was asked to end, to be restarted"))};
}

bool is_restart_exit(const caf::error& reason) {
  return reason && reason.category() == category && reason.code() == restart_code;
}

ExitKind exit_kind(const caf::error& reason) {
  if (!reason || reason == caf::exit_reason::user_shutdown || is_restart_exit(reason))
    return ExitKind::planned;
  if (reason.category() == category && reason.code() <= last_kind + 1)
    return static_cast<ExitKind>(reason.code() - 1);
  return ExitKind::lost;
}

std::string exit_text(const caf::error& reason) {
  if (!reason)
    return reason_text(caf::exit_reason::normal);
  if (reason.category() == category)
    return context_text(reason);
  if (reason.category() == caf::atom("exit"))
    return reason_text(static_cast<caf::exit_reason>(reason.code()));
  if (reason.category() == caf::atom("system")) {
    auto code = static_cast<caf::sec>(reason.code());
    if (code == caf::sec::runtime_error)
      return reason_text(caf::exit_reason::unhandled_exception); // CAF drops what().
    auto text = context_text(reason);
    return text.empty() ? to_string(code) : to_string(code) + ": " + text;
  }
  return to_string(reason);
}

} // namespace fiber::actors
