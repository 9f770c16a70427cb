// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/job_table.hpp"

#include <cerrno>

namespace fiber::backends {

JobTable::Serial JobTable::admit(const JobId& id) {
  std::lock_guard lock(mutex_);
  if (serials_.contains(id))
    throw EngineError("create job", EEXIST,
                      "this session already had a job named \"" + id + "\"");
  limit_.make_room(alive_.size());
  serials_[id] = last_ + 1;
  alive_[++last_] = id;
  return last_;
}

void JobTable::discard(const JobId& id) {
  std::lock_guard lock(mutex_);
  if (auto known = serials_.extract(id))
    alive_.erase(known.mapped());
}

JobTable::Serial JobTable::find(const JobId& id) const {
  std::lock_guard lock(mutex_);
  auto known = serials_.find(id);
  return known == serials_.end() ? 0 : known->second;
}

void JobTable::close(Serial serial) {
  std::lock_guard lock(mutex_);
  alive_.erase(serial);
  changed_.notify_all();
}

JobTable::Serial JobTable::forget(const JobId& id) {
  std::lock_guard lock(mutex_);
  auto known = serials_.find(id);
  if (known == serials_.end() || alive_.contains(known->second))
    return 0;
  auto serial = known->second;
  serials_.erase(known);
  return serial;
}

std::vector<JobId> JobTable::list() const {
  std::lock_guard lock(mutex_);
  std::vector<JobId> ids;
  for (auto& [serial, id] : alive_)
    ids.push_back(id);
  return ids;
}

std::size_t JobTable::wait_for_none(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [this] { return alive_.empty(); });
  return alive_.size();
}

} // namespace fiber::backends
