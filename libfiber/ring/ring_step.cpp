// SPDX-License-Identifier: Apache-2.0
#include "libfiber/ring/ring_step.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace fiber::detail {
namespace {

/// An error lists at most so many different calls.
constexpr std::size_t max_listed = 8;

const char* name_of(RingType type) {
  switch (type) {
  case RingType::f32:
    return "float";
  case RingType::f64:
    return "double";
  case RingType::i32:
    return "std::int32_t";
  case RingType::i64:
    return "std::int64_t";
  }
  return "unknown values";
}

const char* name_of(RingOp op) {
  switch (op) {
  case RingOp::sum:
    return "Sum";
  case RingOp::min:
    return "Min";
  case RingOp::max:
    return "Max";
  case RingOp::mean:
    return "Mean";
  }
  return "an unknown operation";
}

/// As in "ranks 0, 2-5".
std::string text_of(const std::vector<std::size_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    auto last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
      ++last;
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
    if (last > i)
      text += (last == i + 1 ? ", " : "-") + std::to_string(ranks[last]);
    i = last + 1;
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

} // namespace

const char* name_of(RingStep::Call call) {
  using Call = RingStep::Call;
  switch (call) {
  case Call::barrier:
    return "barrier";
  case Call::broadcast:
    return "broadcast";
  case Call::allreduce:
    return "allreduce";
  case Call::allgather:
    return "allgather";
  case Call::reduce_scatter:
    return "reduce_scatter";
  case Call::send:
    return "send";
  case Call::leave:
    return "the end of the function";
  }
  return "an unknown call";
}

std::string values_text(const RingStep& step) {
  return std::to_string(step.n) + " " + name_of(step.type);
}

std::string text_of(const RingStep& step) {
  using Call = RingStep::Call;
  std::string text = name_of(step.call);
  if (step.call == Call::barrier || step.call == Call::leave)
    return text;
  text += " of " + values_text(step);
  if (step.call == Call::broadcast)
    text += " from rank " + std::to_string(step.root);
  if (step.call == Call::allreduce || step.call == Call::reduce_scatter)
    text += std::string(" by ") + name_of(step.op);
  return text;
}

std::optional<std::string> difference(std::span<const RingStep> members) {
  std::vector<std::pair<RingStep, std::vector<std::size_t>>> different;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    auto same = std::ranges::find(
      different, members[rank], [](auto& each) -> const RingStep& { return each.first; });
    if (same == different.end())
      same = different.insert(same, {members[rank], {}});
    same->second.push_back(rank);
  }
  if (different.size() <= 1)
    return std::nullopt;
  std::string text;
  const auto listed = std::min(different.size(), max_listed);
  for (std::size_t i = 0; i < listed; ++i)
    text += (i == 0 ? "" : "; ") + text_of(different[i].second) + ": " +
            text_of(different[i].first);
  if (listed < different.size())
    text += "; and " + std::to_string(different.size() - listed) + " other calls";
  return text;
}

} // namespace fiber::detail
