// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include "actors/protocol/node_protocol.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// Where a job's logger writes: each record goes to the driver, with the task that runs
/// on the thread. Without a link, or with one that takes nothing, to where the logger
/// wrote before.
///
/// Thread safety: any thread may call any member function.
class JobLog final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
public:
  JobLog(std::shared_ptr<wire::Link> link, std::vector<spdlog::sink_ptr> before);

  /// Nobody hears what goes to the link from here on.
  void link_over() { over_ = true; }

private:
  void sink_it_(const spdlog::details::log_msg& record) override;
  void flush_() override;
  bool send(const spdlog::details::log_msg& record);

  std::shared_ptr<wire::Link> link_;
  std::vector<spdlog::sink_ptr> before_;
  std::atomic<bool> over_ = false;
};

/// In the driver: logs a record of a job, whose name tells its pool.
void log_for_job(const std::string& job, const LogRecord& record);

} // namespace fiber::actors
