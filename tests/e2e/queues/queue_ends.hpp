// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <numeric>
#include <vector>

#include <fiber/queue.hpp>

namespace fiber::e2e {

using Numbers = SimpleQueue<int>;

inline void produce(Numbers queue, int from, int to) {
  for (int i = from; i < to; ++i)
    queue.put(i);
}
/// Until it gets a negative number.
inline std::vector<int> consume(Numbers queue) {
  std::vector<int> all;
  for (int i = queue.get(); i >= 0; i = queue.get())
    all.push_back(i);
  return all;
}
inline std::vector<int> range(int from, int to) {
  std::vector<int> all(static_cast<std::size_t>(to - from));
  std::iota(all.begin(), all.end(), from);
  return all;
}
/// Whether the items of each producer, who has `each` numbers, come in its order.
inline bool in_order(const std::vector<int>& got, int each) {
  std::map<int, int> last;
  for (int i : got)
    if (auto [of, first] = last.try_emplace(i / each, i); !first) {
      if (of->second > i)
        return false;
      of->second = i;
    }
  return true;
}

} // namespace fiber::e2e
