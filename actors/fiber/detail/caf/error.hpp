// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <caf/error.hpp>
#include <caf/exit_reason.hpp>
#include <caf/message.hpp>
#include <caf/pec.hpp>
#include <caf/sec.hpp>

#include "fiber/detail/caf/type_ids.hpp"

namespace fiber::detail {

#if CAF_VERSION < 1800

using ErrorCategory = caf::atom_value;

/// The category of the errors of Fiber's own actors.
inline constexpr auto fiber_category = caf::atom("fiberexit");
inline constexpr auto exit_category = caf::atom("exit");     ///< Of caf::exit_reason.
inline constexpr auto system_category = caf::atom("system"); ///< Of caf::sec.

/// Returns the error of that code and category. The code 0 means no error to CAF.
inline caf::error make_error(std::uint8_t code, ErrorCategory category,
                             caf::message context) {
  return {code, category, std::move(context)};
}

/// Whether errors of that category can go to other processes.
inline bool travels(ErrorCategory) {
  return true;
}

#else

using ErrorCategory = caf::type_id_t;

inline constexpr auto fiber_category = caf::type_id_v<actors::ExitKind>;
inline constexpr auto exit_category = caf::type_id_v<caf::exit_reason>;
inline constexpr auto system_category = caf::type_id_v<caf::sec>;

/// Fills an error as one of CAF's inspectors, for the constructor is private.
struct ErrorMaker {
  std::uint8_t code;
  ErrorCategory category;
  caf::message context;

  ErrorMaker& object(caf::error&) { return *this; }
  bool fields(ErrorMaker&) { return true; }
  template <class Data>
  ErrorMaker& field(const char*, std::unique_ptr<Data>& data) {
    data = std::make_unique<Data>(Data{code, category, std::move(context)});
    return *this;
  }
};

inline caf::error make_error(std::uint8_t code, ErrorCategory category,
                             caf::message context) {
  caf::error made;
  ErrorMaker maker{code, category, std::move(context)};
  inspect(maker, made);
  return made;
}

/// CAF believes each category to be an enum, also one that a lying process has sent.
inline bool travels(ErrorCategory category) {
  return category == fiber_category || category == exit_category ||
         category == system_category || category == caf::type_id_v<caf::pec>;
}

#endif

} // namespace fiber::detail
