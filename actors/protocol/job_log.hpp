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

/// The sink of a job's logger. It sends each record to the driver, with the task that
/// runs on the thread. When the link is gone or takes nothing, the record goes to the
/// sinks that the logger had before.
///
/// Thread safety: any thread may call any member function.
class JobLog final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
public:
  JobLog(std::shared_ptr<wire::Link> link, std::vector<spdlog::sink_ptr> before);

  /// Stops using the link: nobody reads from it any more.
  void link_over() { over_ = true; }

private:
  void sink_it_(const spdlog::details::log_msg& record) override;
  void flush_() override;
  bool send(const spdlog::details::log_msg& record);

  std::shared_ptr<wire::Link> link_;
  std::vector<spdlog::sink_ptr> before_;
  std::atomic<bool> over_ = false;
};

/// In the driver: logs a record of a job. The name of the job tells its pool.
void log_for_job(const std::string& job, const LogRecord& record);

} // namespace fiber::actors
