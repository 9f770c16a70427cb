// SPDX-License-Identifier: Apache-2.0
#include "actors/driver/wait_news.hpp"

#include <fmt/format.h>

namespace fiber::actors {

void WaitNews::waits(const std::string& job, const std::string& words) {
  if (!words.empty())
    words_[job] = words;
  else if (words_.erase(job) > 0 && words_.empty())
    told_.clear();
}

std::vector<std::string> WaitNews::take() {
  struct Reason {
    std::string job, words; ///< Of the first one.
    std::size_t jobs = 0;
  };
  std::map<std::string, Reason> reasons;
  for (auto& [job, words] : words_) {
    auto& reason = reasons[words.substr(0, words.find(": "))];
    if (reason.jobs++ == 0)
      reason = {job, words, 1};
  }
  std::vector<std::string> lines;
  for (auto& [name, reason] : reasons)
    if (told_.insert(name).second) {
      auto others = reason.jobs - 1;
      lines.push_back(reason.job +
                      (others == 0 ? " waits: "
                                   : fmt::format(" and {} other job{} wait: ", others,
                                                 others == 1 ? "" : "s")) +
                      reason.words);
    }
  return lines;
}

} // namespace fiber::actors
