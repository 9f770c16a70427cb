// SPDX-License-Identifier: Apache-2.0
#include "tests/locale/comma_locale.hpp"

#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>

namespace fiber::test {
namespace {

class Comma : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// Sets the locale of C functions. Without localedef the build has no locale with a
/// comma.
void set_in_c(const std::string& name) {
  const char* path = std::getenv("LOCPATH");
  const std::string before = path ? path : "";
  ::setenv("LOCPATH", FIBER_TEST_LOCALES, 1);
  std::setlocale(LC_ALL, name.c_str());
  if (path)
    ::setenv("LOCPATH", before.c_str(), 1);
  else
    ::unsetenv("LOCPATH");
}

/// Before main(), so in jobs as well; after std::cout, which keeps its locale, was made.
/// gnuplot, which a program may start, takes its numbers for those of the locale "C" and
/// never sets another one: under a comma it loops for ever.
const struct FromTheStart {
  FromTheStart() {
    if (const char* wanted = std::getenv("TEST_LOCALE");
        wanted && std::strcmp(wanted, "comma") == 0 &&
        std::strcmp(program_invocation_short_name, "gnuplot") != 0)
      locale.emplace();
  }
  std::optional<CommaLocale> locale;
} from_the_start;

} // namespace

CommaLocale::CommaLocale(const char* in_c)
  : before_(std::locale::global(std::locale(std::locale::classic(), new Comma))),
    before_in_c_(std::setlocale(LC_ALL, nullptr)) {
  set_in_c(in_c);
  std::setlocale(LC_MESSAGES, "C"); // Tests compare messages.
}

CommaLocale::~CommaLocale() {
  std::locale::global(before_);
  set_in_c(before_in_c_);
}

} // namespace fiber::test
