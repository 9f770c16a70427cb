// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "actors/pool/task_queue.hpp"

namespace fiber::actors {

/// Returns the tasks of a new call, with arguments of these sizes.
inline TaskRange tasks_of(std::uint64_t call, const std::vector<std::uint64_t>& sizes) {
  auto made = std::make_shared<Call>();
  made->id = call;
  auto batch = std::make_shared<TaskBatch>();
  batch->call = made;
  std::uint64_t end = 0;
  for (auto size : sizes)
    batch->ends.push_back(end += size);
  batch->arguments = Payload(Bytes(end));
  TaskRange range;
  range.batch = batch;
  range.to = static_cast<std::uint32_t>(sizes.size());
  return range;
}

} // namespace fiber::actors
