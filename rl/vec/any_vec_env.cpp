// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/any_vec_env.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "fiber/error.hpp"
#include "fiber/rl/environments.hpp"
#include "rl/vec/batch_rows.hpp"
#include "rl/vec/episode_book.hpp"
#include "rl/vec/host_plans.hpp"
#include "rl/vec/order_check.hpp"
#include "rl/vec/rows.hpp"
#include "rl/vec/workers.hpp"

namespace fiber::rl {

using detail::EnvHosts;
using detail::Op;

namespace vec_start {
namespace {

/// What `call(job)` returns for each job. A job that is lost meanwhile is asked again,
/// but not for ever.
template <class Call>
auto ask_all(std::size_t jobs, Call call) {
  constexpr int most = 5;
  std::vector<decltype(call(0))> futures;
  for (std::size_t job = 0; job < jobs; ++job)
    futures.push_back(call(job));
  std::vector<decltype(futures[0].get())> results;
  for (std::size_t job = 0; job < jobs; ++job)
    for (int tries = 1;; ++tries) {
      try {
        results.push_back(futures[job].get());
        break;
      } catch (const WorkerLost&) {
        if (tries == most)
          throw;
        futures[job] = call(job);
      }
    }
  return results;
}

} // namespace
} // namespace vec_start

class AnyVecEnv::Impl {
public:
  Impl(const VecEnvOptions& options, std::unique_ptr<EnvHosts> hosts)
    : options(vec::checked(options)), hosts_(std::move(hosts)) {
    if (this->options.jobs == 0)
      start_here();
    else
      start_jobs();
  }
  ~Impl() {
    workers_.reset(); // Tells the jobs to leave the memory.
    if (options.jobs > 0)
      stop_jobs();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const Batch& reset_all() {
    check_usable();
    take_back();
    order(all_, Op::reset, {});
    return rows_of_all();
  }

  const Batch& reset(std::span<const int> ids) {
    check_usable();
    vec::check_ids(ids, options.envs);
    vec::check_idle(*book_, ids, "reset");
    order(ids, Op::reset, {});
    return rows_of(ids);
  }

  const Batch& step(std::span<const float> actions) {
    check_usable();
    vec::check_idle(*book_, all_, "step");
    vec::check_can_step(*book_, all_, options.autoreset);
    vec::check_actions(actions, all_, spaces, *rows_);
    order(all_, Op::step, actions);
    return rows_of_all();
  }

  void send(std::span<const float> actions, std::span<const int> ids) {
    check_usable();
    vec::check_ids(ids, options.envs);
    vec::check_idle(*book_, ids, "step");
    vec::check_can_step(*book_, ids, options.autoreset);
    vec::check_actions(actions, ids, spaces, *rows_);
    order(ids, Op::step, actions);
  }

  const Batch& recv() {
    check_usable();
    if (in_flight == 0)
      throw std::logic_error("recv() has no row to return: no environment is in flight; "
                             "send() comes first");
    const auto count = std::min(options.batch, in_flight);
    collect(count);
    const std::vector<int> ids(ready_.begin(),
                               ready_.begin() + static_cast<std::ptrdiff_t>(count));
    return hand_out(ids);
  }

  VecEnvState state() const {
    check_usable();
    check_nothing_in_flight("state");
    return book_->state();
  }

  const Batch& restore(const VecEnvState& state) {
    check_usable();
    check_nothing_in_flight("restore");
    book_->restore(state);
    guarded([&] { workers_->restore(); });
    order(all_, Op::show, {});
    return rows_of_all();
  }

  std::size_t jobs_lost() const { return options.jobs == 0 ? 0 : hosts_->restarts(); }
  bool shares_memory() const { return workers_->shares_memory(); }

  const VecEnvOptions options;
  Spaces spaces;
  std::size_t in_flight = 0; ///< Rows that were ordered and not handed out.
  vec::Incidents incidents;

private:
  // -- start and end --

  void start_here() {
    auto first = hosts_->make(); // Tells the spaces, and becomes environment 0.
    spaces = first->spaces();
    spaces.check_actions("the environment of a VecEnv");
    lay_out(false);
    auto make = [&] { return first ? std::move(first) : hosts_->make(); };
    workers_ = vec::work_here({options, *rows_, *book_, incidents}, make);
  }

  void start_jobs() {
    try {
      const auto plans = vec::spread(options);
      hosts_->start(plans, options.resources);
      if (options.step_timeout)
        check_processes(plans.size());
      const auto all_spaces =
        vec_start::ask_all(plans.size(), [&](auto job) { return hosts_->open(job); });
      spaces = all_spaces.front();
      spaces.check_actions("the environment of a VecEnv");
      for (const auto& other : all_spaces)
        if (other != spaces)
          throw Error("the environments of a VecEnv have different spaces");
      if (!hosts_->messages_only && share_rows(plans.size())) {
        workers_ = vec::work_in_shared_memory({options, *rows_, *book_, incidents},
                                              *hosts_, plans);
      } else {
        lay_out(false);
        workers_ =
          vec::work_by_messages({options, *rows_, *book_, incidents}, *hosts_, plans);
      }
    } catch (...) {
      stop_jobs();
      throw;
    }
  }

  /// A job that hangs must not be this process.
  void check_processes(std::size_t jobs) {
    for (const auto& mark :
         vec_start::ask_all(jobs, [&](auto job) { return hosts_->process(job); }))
      if (mark == detail::process_mark())
        vec::refuse_timeout(
          "only with a backend whose jobs are processes",
          "with the backend inline environments run in this process, and nothing can "
          "interrupt one that hangs");
  }

  /// Whether all jobs have mapped the rows: whether they are on this machine.
  bool share_rows(std::size_t jobs) {
    lay_out(true);
    const auto attached = vec_start::ask_all(
      jobs, [&](auto job) { return hosts_->attach(job, rows_->place()); });
    return std::ranges::all_of(attached, [](bool there) { return there; });
  }

  void lay_out(bool shared) {
    rows_ = std::make_unique<vec::Rows>(
      vec::RowsShape{.envs = options.envs,
                     .jobs = options.jobs,
                     .observation_size = spaces.observation_size(),
                     .action_size = spaces.action_size(),
                     .mask_size = spaces.mask_size()},
      shared);
    book_.emplace(options, spaces, *rows_);
    batch_.emplace(options, *rows_, *book_);
    all_.resize(options.envs);
    std::iota(all_.begin(), all_.end(), 0);
    no_action_.resize(spaces.action_size());
  }

  void stop_jobs() noexcept {
    try {
      hosts_->stop();
    } catch (const Error&) {
      // The session has ended, and the jobs with it.
    }
  }

  // -- checks --

  void check_usable() const {
    if (broken_)
      std::rethrow_exception(broken_);
  }

  void check_nothing_in_flight(const std::string& call) const {
    if (in_flight == 0)
      return;
    std::vector<int> flying;
    for (const int id : all_)
      if (book_->in_flight(id))
        flying.push_back(id);
    throw std::logic_error(call + "() can't be used while " + vec::name_envs(flying) +
                           (flying.size() == 1 ? " is" : " are") + " in flight");
  }

  /// What the workers throw is final.
  template <class F>
  void guarded(F f) {
    try {
      f();
    } catch (...) {
      broken_ = std::current_exception();
      throw;
    }
  }

  // -- orders and rows --

  /// Gives each of these an order; the actions are in rows, or there are none.
  void order(std::span<const int> ids, Op op, std::span<const float> actions) {
    const auto width = spaces.action_size();
    for (std::size_t i = 0; i < ids.size(); ++i)
      book_->order(ids[i], op,
                   actions.empty() ? std::span<const float>(no_action_)
                                   : actions.subspan(i * width, width));
    in_flight += ids.size();
    guarded([&] { workers_->post(ids); });
  }

  /// Waits until `count` rows are ready.
  void collect(std::size_t count) {
    while (ready_.size() < count) {
      const auto known = ready_.size();
      guarded([&] { workers_->collect(count - known, ready_); });
      if (options.on_error == OnError::new_episode)
        renew_failed(known);
    }
  }

  /// Has those that threw begin new episodes, of the rows that came after so many others.
  void renew_failed(std::size_t known) {
    std::vector<int> failed;
    for (auto at = known; at < ready_.size(); ++at)
      if (const auto id = ready_[at];
          book_->failure(id) && book_->failures(id) < errors_in_a_row)
        failed.push_back(id);
    if (failed.empty())
      return;
    std::erase_if(ready_,
                  [&](int id) { return std::ranges::find(failed, id) != failed.end(); });
    for (const int id : failed) {
      incidents.failed(id, *book_->failure(id));
      book_->renew(id);
    }
    guarded([&] { workers_->post(failed); });
  }

  const Batch& rows_of_all() {
    collect(in_flight);
    settle(all_);
    return batch_->all();
  }

  const Batch& rows_of(std::span<const int> ids) {
    const auto missing = [&] {
      return static_cast<std::size_t>(std::ranges::count_if(
        ids, [&](int id) { return std::ranges::find(ready_, id) == ready_.end(); }));
    };
    while (const auto more = missing())
      collect(ready_.size() + more);
    return hand_out(ids);
  }

  const Batch& hand_out(std::span<const int> ids) {
    settle(ids);
    return batch_->some(ids);
  }

  /// Takes these from the rows that are ready. If some have failed, takes only them, and
  /// throws what they said.
  void settle(std::span<const int> ids) {
    std::vector<int> failed;
    for (const int id : ids)
      if (book_->failure(id))
        failed.push_back(id);
    const auto taken = failed.empty() ? ids : std::span<const int>(failed);
    for (const int id : taken)
      book_->land(id);
    in_flight -= taken.size();
    std::erase_if(ready_, [&](int id) { return !book_->in_flight(id); });
    if (failed.empty())
      return;
    for (const int id : failed)
      incidents.failed(id, *book_->failure(id));
    throw std::runtime_error(failures(failed));
  }

  /// What these said. Environments that said the same are named together.
  std::string failures(std::span<const int> failed) const {
    std::map<std::string, std::vector<int>> by_text;
    for (const int id : failed)
      by_text[*book_->failure(id)].push_back(id);
    std::string text;
    for (const int id : failed) {
      const auto& said = *book_->failure(id);
      const auto& ids = by_text.at(said);
      if (ids.front() == id)
        text += (text.empty() ? "" : "; ") + vec::name_envs(ids) + " failed: " + said;
    }
    if (options.on_error == OnError::new_episode)
      text += "\nThat was error " + std::to_string(errors_in_a_row) +
              " in a row without a step that ended well in between, so no further "
              "episode was begun (on_error)";
    return text;
  }

  /// Waits for all that is in flight, and forgets it.
  void take_back() {
    collect(in_flight);
    for (const int id : ready_)
      book_->land(id);
    ready_.clear();
    in_flight = 0;
  }

  static constexpr int errors_in_a_row = 10; ///< With OnError::new_episode.

  std::unique_ptr<EnvHosts> hosts_;
  std::unique_ptr<vec::Rows> rows_;
  std::optional<vec::EpisodeBook> book_;
  std::optional<vec::BatchRows> batch_;
  std::unique_ptr<vec::Workers> workers_;
  std::vector<int> all_;
  std::vector<float> no_action_;
  std::vector<int> ready_; ///< Rows that are there, in the order in which they came.
  std::exception_ptr broken_;
};

AnyVecEnv::AnyVecEnv(const VecEnvOptions& options, const std::string& environment)
  : AnyVecEnv(options, fiber::bind(&make_environment, environment)) {}
AnyVecEnv::AnyVecEnv(const VecEnvOptions& options, std::unique_ptr<EnvHosts> hosts)
  : impl_(std::make_unique<Impl>(options, std::move(hosts))) {}
AnyVecEnv::AnyVecEnv(AnyVecEnv&&) noexcept = default;
AnyVecEnv& AnyVecEnv::operator=(AnyVecEnv&&) noexcept = default;
AnyVecEnv::~AnyVecEnv() = default;

const VecEnvOptions& AnyVecEnv::options() const {
  return impl_->options;
}
const Spaces& AnyVecEnv::spaces() const {
  return impl_->spaces;
}
const Batch& AnyVecEnv::reset() {
  return impl_->reset_all();
}
const Batch& AnyVecEnv::reset(std::span<const int> ids) {
  return impl_->reset(ids);
}
const Batch& AnyVecEnv::step(std::span<const float> actions) {
  return impl_->step(actions);
}
void AnyVecEnv::send(std::span<const float> actions, std::span<const int> ids) {
  impl_->send(actions, ids);
}
const Batch& AnyVecEnv::recv() {
  return impl_->recv();
}
std::size_t AnyVecEnv::in_flight() const {
  return impl_->in_flight;
}
VecEnvState AnyVecEnv::state() const {
  return impl_->state();
}
const Batch& AnyVecEnv::restore(const VecEnvState& state) {
  return impl_->restore(state);
}
std::size_t AnyVecEnv::jobs_lost() const {
  return impl_->jobs_lost();
}
std::size_t AnyVecEnv::errors() const {
  return impl_->incidents.errors();
}
const std::string& AnyVecEnv::first_error() const {
  return impl_->incidents.first_error();
}
std::size_t AnyVecEnv::hangs() const {
  return impl_->incidents.hangs();
}
bool AnyVecEnv::shares_memory() const {
  return impl_->shares_memory();
}

} // namespace fiber::rl
