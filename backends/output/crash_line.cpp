// SPDX-License-Identifier: Apache-2.0
#include "backends/output/crash_line.hpp"

#include <algorithm>
#include <utility>

namespace fiber::backends {

void CrashLineFilter::pass(std::string_view text,
                           const std::function<void(std::string_view)>& f) {
  while (!text.empty()) {
    if (length_ > 0) {
      auto rest = text.substr(0, longest_crash_line - length_);
      auto end = rest.find('\n');
      auto part = end == rest.npos ? rest.size() : end + 1;
      text.remove_prefix(part);
      length_ += part;
      if (end != rest.npos || length_ == longest_crash_line)
        length_ = 0;
      continue;
    }
    if (matched_ == 0) {
      auto begin = std::min(text.find(crash_mark.front()), text.size());
      if (begin > 0)
        f(text.substr(0, begin));
      text.remove_prefix(begin);
    }
    while (!text.empty() && matched_ < crash_mark.size() &&
           text.front() == crash_mark[matched_]) {
      text.remove_prefix(1);
      ++matched_;
    }
    if (matched_ == crash_mark.size()) {
      length_ = std::exchange(matched_, 0);
    } else if (!text.empty() && matched_ > 0) {
      // The mark's first byte occurs in it only once.
      f(crash_mark.substr(0, std::exchange(matched_, 0)));
    }
  }
}

void CrashLineFilter::end(const std::function<void(std::string_view)>& f) {
  if (auto waited = std::exchange(matched_, 0); waited > 0)
    f(crash_mark.substr(0, waited));
  length_ = 0;
}

std::string without_crash_lines(std::string_view output) {
  std::string plain;
  CrashLineFilter filter;
  auto add = [&plain](std::string_view part) { plain += part; };
  filter.pass(output, add);
  filter.end(add);
  return plain;
}

} // namespace fiber::backends
