// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "actors/core/reply.hpp"
#include "actors/roster/roster.hpp"
#include "libfiber/observer/part.hpp"
#include "libfiber/observer/past_parts.hpp"
#include "libfiber/observer/process_use.hpp"
#include "libfiber/observer/series_store.hpp"

namespace fiber::observer {

/// What a session shows to those who look at it, and what they can ask it to do.
/// docs/internals/snapshot.md has the form of the snapshot.
///
/// Thread safety: any thread may call any member function.
class SessionView {
public:
  using OutputReply = actors::Reply<std::optional<std::string>>;
  /// What the view needs of the session. May be called on any thread.
  struct Session {
    std::string name;
    std::string backend;
    std::string id = {}; ///< The engine knows the session's objects by it; may be empty.
    std::shared_ptr<actors::Roster> roster;
    /// Asks for the output of the engine's job `id`. Returns null if the session ends.
    std::function<std::shared_ptr<OutputReply>(const std::string& id)> read_output;
    /// Ends the engine's job `id` at once.
    std::function<void(const std::string& id)> end_job;
  };

  explicit SessionView(Session session) : session_(std::move(session)) {}

  const std::string& name() const { return session_.name; }
  /// Shows `part` until it has gone.
  void add(std::shared_ptr<Part> part);
  /// Returns all there is to see now. Parts that are too busy to answer within `patience`
  /// are left out and counted in "silent_parts".
  nlohmann::json snapshot(std::chrono::milliseconds patience);
  /// Returns the snapshot without pools, for those that ask the pools themselves.
  nlohmann::json snapshot_without_pools(std::chrono::milliseconds patience);
  /// Returns the snapshot and what a page draws besides: published series, events, and
  /// the stream of tasks from number `stream_from` on, and how pools looked before.
  /// Pools, rings and managers that have ended stay in it, marked, as they were seen
  /// last.
  nlohmann::json picture(std::chrono::milliseconds patience, std::uint64_t stream_from);
  /// Returns a picture with the ends of the outputs of jobs, for a page without a server.
  nlohmann::json report(std::chrono::milliseconds patience);
  /// Returns what programs have published.
  SeriesStore& series() { return series_; }
  /// Sets the address of the live page, with its token. No snapshot has it.
  void set_page(const std::string& url);
  /// Answers a request, {"op": ...}: "status", "page", "report", "logs", "stop", "kill".
  /// The reply has a member "error" if it could not be fulfilled.
  nlohmann::json answer(const nlohmann::json& request);

private:
  nlohmann::json session() const;
  nlohmann::json jobs();
  nlohmann::json events() const;
  nlohmann::json stream(std::uint64_t from) const;
  nlohmann::json look(std::chrono::milliseconds patience, bool with_pools);
  void remember(const nlohmann::json& pools);
  void add_history(nlohmann::json& pools);
  void keep_past(nlohmann::json& all);
  nlohmann::json failures() const;
  nlohmann::json logs(const nlohmann::json& request);
  nlohmann::json kill();
  std::vector<std::shared_ptr<Part>> parts();

  const Session session_;
  SeriesStore series_;
  ProcessUse use_;
  const Clock::time_point opened_ = Clock::now();
  const std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();
  std::mutex mutex_; ///< Guards what follows.
  std::vector<std::shared_ptr<Part>> parts_;
  std::size_t sweep_at_ = 64;
  std::map<std::string, PastParts> past_{{"pools", {}}, {"rings", {}}, {"managers", {}}};
  std::map<std::string, SeriesStore> pools_; ///< How pools looked, by name.
  std::string page_;
};

} // namespace fiber::observer
