// SPDX-License-Identifier: Apache-2.0
#include "actors/protocol/job_log.hpp"

#include <utility>

#include "actors/core/task_context.hpp"
#include "base/log.hpp"

namespace fiber::actors {
namespace {

/// Limit in bytes of what waits to be sent, as a stopped driver reads nothing.
constexpr std::size_t max_backlog = 1 << 20;

} // namespace

JobLog::JobLog(std::shared_ptr<wire::Link> link, std::vector<spdlog::sink_ptr> before)
  : link_(std::move(link)), before_(std::move(before)) {}

void JobLog::sink_it_(const spdlog::details::log_msg& record) {
  if (send(record))
    return;
  for (auto& sink : before_)
    sink->log(record);
}

bool JobLog::send(const spdlog::details::log_msg& record) {
  if (over_ || link_->backlog() > max_backlog)
    return false;
  LogRecord told;
  told.level = static_cast<std::uint8_t>(record.level);
  if (auto* task = TaskContext::current()) {
    told.index = task->index;
    told.attempt = static_cast<std::uint32_t>(task->attempt);
  }
  told.text.assign(record.payload.data(), record.payload.size());
  Bytes head;
  Writer writer(head);
  write(writer, told);
  return link_->send(task_stream, std::move(head));
}

void JobLog::flush_() {
  for (auto& sink : before_)
    sink->flush();
}

void log_for_job(const std::string& job, const LogRecord& record) {
  auto level = static_cast<spdlog::level::level_enum>(record.level);
  if (record.attempt == 0)
    log().log(level, "[{}] {}", job, record.text);
  else
    log().log(level, "[{} task {} attempt {}] {}", job, record.index, record.attempt,
              record.text);
}

} // namespace fiber::actors
