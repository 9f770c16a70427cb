// SPDX-License-Identifier: Apache-2.0
// A locale as programs of users set it: 1234.5 is written 1.234,5.
#pragma once

#include <locale>
#include <string>

namespace fiber::test {

/// While it lives, the program has that locale: std::locale::global, and setlocale's,
/// which is German or the given one of those that tests/CMakeLists.txt makes.
/// With TEST_LOCALE=comma in its environment, a test program has that locale from its
/// start.
class CommaLocale {
public:
  explicit CommaLocale(const char* in_c = "de_DE.UTF-8");
  ~CommaLocale();
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

private:
  std::locale before_;
  std::string before_in_c_;
};

} // namespace fiber::test
