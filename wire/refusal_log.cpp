// SPDX-License-Identifier: Apache-2.0
#include "wire/refusal_log.hpp"

#include <utility>

#include "base/log.hpp"

namespace fiber::wire {

RefusalLog::~RefusalLog() {
  sum_up();
}

void RefusalLog::refused(const std::string& peer, const std::string& reason,
                         Clock::time_point now) {
  if (now - begin_ >= period) {
    sum_up();
    begin_ = now;
  }
  last_ = peer + ": " + reason;
  if (++count_ <= lines_in_full)
    log().warn("refused {}", last_);
}

void RefusalLog::sum_up() {
  const auto count = std::exchange(count_, 0);
  if (count > lines_in_full)
    log().warn("refused {} more connections within {} s, the last one {}",
               count - lines_in_full, period.count(), last_);
}

} // namespace fiber::wire
