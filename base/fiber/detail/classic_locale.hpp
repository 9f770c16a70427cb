// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <locale>
#include <utility>

#include <locale.h> // uselocale, which <clocale> need not have.

namespace fiber::detail {

/// A string or file stream with the numbers of the "C" locale: no grouping, a point
/// before decimals. Text that a program reads is written and read with it, since other
/// streams follow std::locale::global, which belongs to the user.
template <class Stream>
class Classic : public Stream {
public:
  template <class... Args>
  explicit Classic(Args&&... args) : Stream(std::forward<Args>(args)...) {
    this->imbue(std::locale::classic());
  }
};

/// While it lives, C functions such as strtold have the "C" locale in the thread that
/// made it. For libraries that read numbers with them.
class ClassicThread {
public:
  ClassicThread()
    : locale_(::newlocale(LC_ALL_MASK, "C", nullptr)), before_(::uselocale(locale_)) {}
  ~ClassicThread() {
    ::uselocale(before_);
    ::freelocale(locale_); // The C library's constant; freeing that one does nothing.
  }
  ClassicThread(const ClassicThread&) = delete;
  ClassicThread& operator=(const ClassicThread&) = delete;

private:
  ::locale_t locale_, before_;
};

} // namespace fiber::detail
