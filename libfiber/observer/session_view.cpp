// SPDX-License-Identifier: Apache-2.0
#include "libfiber/observer/session_view.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include <unistd.h>

#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>

#include "backends/engine/program.hpp"

namespace fiber::observer {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr int schema = 2;
constexpr auto patience = 1000ms;    ///< With all parts together.
constexpr auto output_patience = 5s; ///< With an engine that is asked for output.
constexpr auto kill_patience = 2s;   ///< Until all jobs have ended.
constexpr auto kill_interval = 10ms;

double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

std::string utc(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

const char* state_text(actors::JobEntry::State state) {
  switch (state) {
  case actors::JobEntry::State::starting:
    return "starting";
  case actors::JobEntry::State::up:
    return "up";
  case actors::JobEntry::State::draining:
    return "draining";
  }
  return "";
}

std::string text_of(const json& request, const char* key) {
  auto value = request.find(key);
  return value != request.end() && value->is_string() ? value->get<std::string>() : "";
}

json problem(const std::string& text) {
  return {{"error", text}};
}

/// Returns the text with U+FFFD for what is no UTF-8. An incomplete character at the end
/// is left out, unless nothing more will come.
std::string as_utf8(std::string text, bool complete) {
  auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  std::size_t tail = 0; // Bytes of the last character.
  while (tail < std::min<std::size_t>(text.size(), 4) &&
         !starts(text[text.size() - ++tail]))
    ;
  if (!complete && tail > 0) {
    auto first = static_cast<unsigned char>(text[text.size() - tail]);
    std::size_t wanted = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (tail < wanted)
      text.resize(text.size() - tail);
  }
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

/// Returns where the first `have` bytes of an earlier `text` end, which ended with
/// `after`. The engine may have dropped its beginning since then.
std::size_t end_of(const std::string& text, const std::string& after, std::size_t have) {
  if (after.empty())
    return 0;
  if (have >= after.size() && have <= text.size() &&
      text.compare(have - after.size(), after.size(), after) == 0)
    return have;
  auto at = text.rfind(after);
  return at == text.npos ? 0 : at + after.size();
}

/// Adds to the jobs of a pool how many tasks each has.
void add_tasks(json& jobs, const json& pools) {
  std::map<std::uint64_t, std::uint64_t> tasks; // By incarnation.
  for (auto& pool : pools)
    for (auto& job : pool.at("jobs"))
      tasks[job.at("incarnation")] = job.at("tasks");
  for (auto& job : jobs)
    if (auto known = tasks.find(job.at("incarnation")); known != tasks.end())
      job["tasks"] = known->second;
}

/// Replaces the processes that use queues by the names of their jobs.
void name_users(json& queues, const json& jobs) {
  if (queues.empty())
    return;
  std::map<std::uint64_t, std::string> names{{0, "driver"}};
  for (auto& job : jobs)
    names[job.at("incarnation")] = job.at("job");
  auto none = json::array();
  for (auto& queue : queues)
    for (auto* users : {"producer_jobs", "consumer_jobs"})
      for (auto& user : queue.contains(users) ? queue[users] : none) {
        auto name = names.find(user.get<std::uint64_t>());
        user = name == names.end() ? "a job that has ended" : name->second;
      }
}

/// Adds to each ring how many of its members are up.
void count_members(json& rings, const json& jobs) {
  for (auto& ring : rings) {
    auto& name = ring.at("name").get_ref<const std::string&>();
    ring["members_up"] = std::ranges::count_if(jobs, [&](auto& job) {
      auto& member = job.at("name").template get_ref<const std::string&>(); // "NAME.RANK"
      return job.at("kind") == "ring" && job.at("state") == "up" &&
             member.substr(0, member.rfind('.')) == name;
    });
  }
}

} // namespace

void SessionView::add(std::shared_ptr<Part> part) {
  std::lock_guard lock(mutex_);
  if (parts_.size() >= sweep_at_) {
    std::erase_if(parts_, [](auto& known) { return known->gone(); });
    sweep_at_ = 2 * parts_.size() + 64;
  }
  parts_.push_back(std::move(part));
}

std::vector<std::shared_ptr<Part>> SessionView::parts() {
  std::lock_guard lock(mutex_);
  std::erase_if(parts_, [](auto& known) { return known->gone(); });
  return parts_;
}

json SessionView::snapshot(std::chrono::milliseconds wait) {
  auto all = look(wait, true);
  remember(all["pools"]);
  return all;
}

json SessionView::snapshot_without_pools(std::chrono::milliseconds wait) {
  return look(wait, false);
}

json SessionView::look(std::chrono::milliseconds wait, bool with_pools) {
  auto limit = Clock::now() + wait;
  json all{{"schema", schema},
           {"session", session()},
           {"jobs", jobs()},
           {"failures", failures()},
           {"failures_seen", session_.roster->failures_seen()}};
  for (auto* list : {"pools", "queues", "supervisors", "managers", "rings"})
    all[list] = json::array();
  // Asks all parts first: a busy one must not use up the time of the others.
  std::vector<std::pair<const char*, Part::Answer>> asked;
  auto shown = parts(); // Kept while they answer.
  for (auto& part : shown)
    if (with_pools || part->list() != std::string_view("pools"))
      asked.emplace_back(part->list(), part->look());
  std::size_t silent = 0;
  for (auto& [list, answer] : asked) {
    auto entry = answer ? answer(limit) : std::nullopt;
    if (entry)
      all[list].push_back(std::move(*entry));
    else
      ++silent;
  }
  all["silent_parts"] = silent;
  add_tasks(all["jobs"], all["pools"]);
  name_users(all["queues"], all["jobs"]);
  count_members(all["rings"], all["jobs"]);
  return all;
}

json SessionView::session() const {
  std::error_code none;
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return {{"name", session_.name},
          {"program", std::filesystem::read_symlink("/proc/self/exe", none).string()},
          {"arguments", backends::program_words()},
          {"folder", std::filesystem::current_path(none).string()},
          {"pid", ::getpid()},
          {"host", host},
          {"backend", session_.backend},
          {"id", session_.id},
          {"started", utc(started_)},
          {"age_seconds", seconds(Clock::now() - opened_)},
          {"jobs_lost", session_.roster->jobs_lost()}};
}

json SessionView::jobs() {
  auto now = Clock::now();
  auto list = json::array();
  for (auto& [incarnation, job] : session_.roster->jobs()) {
    // One by one: there may be a thousand jobs, and a list of pairs takes twice as long.
    auto& entry = list.emplace_back(json::object());
    entry["name"] = job.node;
    entry["job"] = job.job;
    entry["kind"] = job.kind;
    entry["state"] = state_text(job.state);
    if (!job.waits_for.empty()) {
      entry["waits_for"] = job.waits_for;
      entry["waits_seconds"] = seconds(now - job.waits_since);
    }
    entry["workers"] = job.slots;
    entry["incarnation"] = incarnation;
    entry["id"] = job.id;
    entry["pid"] = job.pid;
    entry["restarts"] = job.restarts;
    entry["age_seconds"] = seconds(now - job.since);
    if (auto link = job.link.lock())
      entry["silent_seconds"] = seconds(link->stats().silent);
    // Elsewhere the pid is that of another machine or namespace.
    if (auto use = session_.backend == "local" ? use_.of(job.pid) : std::nullopt) {
      entry["cpu_seconds"] = use->cpu_seconds;
      entry["memory_bytes"] = use->memory_bytes;
    }
  }
  return list;
}

json SessionView::failures() const {
  auto list = json::array();
  for (auto& failure : session_.roster->failures()) {
    json entry{{"at", utc(failure.at)},
               {"kind", failure.is_job ? "job" : "task"},
               {"who", failure.who},
               {"why", failure.why}};
    if (failure.exit_code)
      entry["exit_code"] = *failure.exit_code;
    list.push_back(std::move(entry));
  }
  return list;
}

void SessionView::set_page(const std::string& url) {
  const std::lock_guard lock(mutex_);
  page_ = url;
}

json SessionView::answer(const json& request) {
  auto op = text_of(request, "op");
  try {
    if (op == "status")
      return snapshot(patience);
    if (op == "page") {
      const std::lock_guard lock(mutex_);
      return {{"url", page_}};
    }
    if (op == "report")
      return report(patience);
    if (op == "logs")
      return logs(request);
    if (op == "kill")
      return kill();
    if (op == "stop") {
      ::kill(::getpid(), SIGTERM);
      return {{"stopping", true}};
    }
    return problem("there is no request \"" + op + "\"");
  } catch (const std::exception& error) {
    return problem(error.what());
  }
}

/// Answers with the output of "job": a job, or the name that a job has in common with
/// those it has replaced. "have" bytes of the output, which end with "after", are what
/// the asker has already. Without "job": with the jobs that have output.
json SessionView::logs(const json& request) {
  auto name = text_of(request, "job");
  auto jobs = session_.roster->jobs();
  auto ended = session_.roster->ended();
  if (name.empty()) {
    json all{{"jobs", json::array()}, {"ended", ended}};
    for (auto& [incarnation, job] : jobs)
      all["jobs"].push_back(job.job);
    return all;
  }
  auto job = std::find_if(jobs.rbegin(), jobs.rend(), [&](auto& entry) {
    return entry.second.job == name || entry.second.node == name;
  });
  std::optional<std::string> text;
  if (job != jobs.rend() && !job->second.id.empty()) {
    auto reply = session_.read_output(job->second.id);
    if (reply && !reply->wait_until(Clock::now() + output_patience))
      return problem("the engine has not returned the output of " + name + " in time");
    text = reply ? reply->value() : std::nullopt;
    name = job->second.job;
  }
  auto living = text.has_value() || job != jobs.rend();
  if (!text)
    text = session_.roster->output(name);
  if (!text && !living)
    return problem("there is no job \"" + name + "\", and no output is kept of one");
  auto output = as_utf8(text.value_or(""), !living);
  auto size = output.size();
  output.erase(
    0, end_of(output, text_of(request, "after"), request.value("have", std::size_t{0})));
  return {{"job", name}, {"text", output}, {"size", size}, {"ended", !living}};
}

/// Ends all jobs at once and waits for that. The asker then kills this process.
json SessionView::kill() {
  auto jobs = session_.roster->jobs();
  for (auto& [incarnation, job] : jobs)
    if (!job.id.empty())
      session_.end_job(job.id);
  auto limit = Clock::now() + kill_patience;
  auto left = jobs.size();
  while (left > 0 && Clock::now() < limit) {
    std::this_thread::sleep_for(kill_interval);
    auto now = session_.roster->jobs();
    left = static_cast<std::size_t>(
      std::ranges::count_if(jobs, [&](auto& job) { return now.contains(job.first); }));
  }
  return {{"jobs", jobs.size()}, {"left", left}};
}

} // namespace fiber::observer
