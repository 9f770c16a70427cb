// SPDX-License-Identifier: Apache-2.0
#include "backends/inline/inline_backend.hpp"

#include <cerrno>

namespace fiber::backends {

struct InlineBackend::State {
  std::mutex mutex;
  Watcher watcher;
  std::set<std::string> names;
  std::map<JobId, Stop> alive;
  std::map<JobId, JobEvent> early; // Ended during start_().
  std::set<JobId> starting;
  std::deque<JobEvent> events;
  bool delivering = false;

  void end(const JobId& id, std::optional<int> code, std::string detail);
  void deliver();
};

/// Reports the end of a job. Later calls have no effect.
void InlineBackend::State::end(const JobId& id, std::optional<int> code,
                               std::string detail) {
  {
    std::lock_guard lock(mutex);
    JobEvent event{JobEvent::Kind::ended, id, 0, code, std::move(detail)};
    if (starting.contains(id)) {
      early.emplace(id, std::move(event)); // create() queues it after `started`.
      return;
    }
    if (alive.erase(id) == 0)
      return;
    events.push_back(std::move(event));
  }
  deliver();
}

/// Delivers events one at a time. If another thread is delivering, it takes this event
/// too.
void InlineBackend::State::deliver() {
  std::unique_lock lock(mutex);
  if (delivering)
    return;
  delivering = true;
  while (!events.empty()) {
    auto event = std::move(events.front());
    events.pop_front();
    if (!watcher)
      continue;
    lock.unlock();
    watcher(event);
    lock.lock();
  }
  delivering = false;
}

InlineBackend::InlineBackend(Start start)
  : state_(std::make_shared<State>()), start_(std::move(start)) {}

InlineBackend::~InlineBackend() {
  for (auto& id : list())
    terminate(id, {});
  for (auto& id : list())
    state_->end(id, {}, "exit unknown (still running when the session ended)");
  std::lock_guard lock(state_->mutex);
  state_->watcher = nullptr;
}

void InlineBackend::watch(Watcher watcher) {
  std::lock_guard lock(state_->mutex);
  state_->watcher = std::move(watcher);
}

Job InlineBackend::create(JobSpec spec) {
  const JobId id = spec.name;
  {
    std::lock_guard lock(state_->mutex);
    if (!state_->names.insert(id).second)
      throw EngineError("create job", EEXIST,
                        "this session already had a job named \"" + id + "\"");
    state_->starting.insert(id);
  }
  Stop stop;
  try {
    stop = start_(spec, [state = state_, id](int code, std::string detail) {
      state->end(id, code, std::move(detail));
    });
  } catch (const std::exception& error) {
    std::lock_guard lock(state_->mutex);
    state_->starting.erase(id);
    state_->early.erase(id);
    state_->names.erase(id);
    throw EngineError("create job", 0, error.what());
  }
  {
    std::lock_guard lock(state_->mutex);
    state_->starting.erase(id);
    state_->events.push_back({JobEvent::Kind::started, id, 0, {}, {}});
    if (auto early = state_->early.extract(id))
      state_->events.push_back(std::move(early.mapped()));
    else
      state_->alive.emplace(id, std::move(stop));
  }
  state_->deliver();
  return {id, {}, nullptr};
}

void InlineBackend::terminate(const JobId& job, std::chrono::milliseconds) {
  Stop stop;
  {
    std::lock_guard lock(state_->mutex);
    auto found = state_->alive.find(job);
    if (found == state_->alive.end())
      return;
    stop = std::exchange(found->second, nullptr);
  }
  if (stop)
    stop();
}

std::string InlineBackend::logs(const JobId&) {
  return {};
}

void InlineBackend::forget(const JobId& job) {
  std::lock_guard lock(state_->mutex);
  if (!state_->alive.contains(job) && !state_->starting.contains(job))
    state_->names.erase(job);
}

std::vector<JobId> InlineBackend::list() {
  std::lock_guard lock(state_->mutex);
  std::vector<JobId> ids;
  for (auto& [id, stop] : state_->alive)
    ids.push_back(id);
  return ids;
}

} // namespace fiber::backends
