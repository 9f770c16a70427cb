// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "fiber/detail/classic_locale.hpp"
#include <CLI/CLI.hpp>

namespace fiber::rl::detail {

/// As CLI11_PARSE, but 0.05 is a number in each locale. Returns the exit code of a
/// program that ends here: after --help, or since an option is wrong.
inline std::optional<int> parse_options(CLI::App& app, int argc, char** argv) {
  const fiber::detail::ClassicThread numbers;
  try {
    app.parse(argc, argv);
    return {};
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
}

} // namespace fiber::rl::detail
