// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "fiber/callable.hpp"
#include "fiber/queue.hpp"
#include "fiber/rl/detail/call_watch.hpp"
#include "fiber/rl/environment.hpp"
#include "fiber/supervisor.hpp"
#include "fiber/value.hpp"

// How a VecEnv reaches environments in jobs. Not for programs: use VecEnv or AnyVecEnv.

namespace fiber::rl::detail {

/// What an environment is to do.
enum class Op : std::uint32_t {
  step,
  reset, ///< Begin the next episode.
  show   ///< Give a row of where it is.
};

/// An order to one environment; its action comes separately.
struct Order {
  int id = 0;
  Op op = Op::step;
  std::uint64_t next_seed = 0; ///< Of the episode that begins if this order begins one.
};

/// A row but for its observations.
struct RowFacts {
  double reward = 0;
  double episode_return = 0;
  std::int32_t episode_length = 0;
  std::uint8_t terminated = 0;
  std::uint8_t truncated = 0;
  std::uint8_t lost = 0;   ///< The process did not know this environment's episode.
  std::uint8_t failed = 0; ///< The environment threw.
};

/// Whether a row with Autoreset::same_step has a final observation.
inline bool has_final(const RowFacts& facts) {
  return (facts.terminated != 0 || facts.truncated != 0) && facts.lost == 0 &&
         facts.failed == 0;
}

/// An episode under way: the seed it began with and the actions it took.
struct History {
  int id = 0;
  bool begun = false; ///< false: the environment was never reset.
  bool done = false;  ///< The episode has ended; not with Autoreset::same_step.
  std::uint64_t seed = 0;
  std::vector<float> actions;

  void fiber_pack(Writer& writer) const;
  static History fiber_unpack(Reader& reader);
};

/// Orders to environments of one job, in one message.
struct StepRequest {
  std::vector<Order> orders;
  std::vector<float> actions;     ///< A row for each order.
  std::vector<History> histories; ///< What is to be done again before.

  void fiber_pack(Writer& writer) const;
  static StepRequest fiber_unpack(Reader& reader);
};

/// The rows that answer a StepRequest, in its order.
struct StepReply {
  std::vector<RowFacts> facts;
  std::vector<float> observations;
  std::vector<std::uint8_t> masks; ///< Rows of Spaces::mask_size() bytes.
  /// Rows of final observations, of those alone that ended with Autoreset::same_step.
  std::vector<float> final_observations;
  /// What environments threw, of those alone that failed.
  std::vector<std::string> errors;

  void fiber_pack(Writer& writer) const;
  static StepReply fiber_unpack(Reader& reader);
};

/// Where a driver's shared memory is, for processes of its machine.
struct SharedPlace {
  pid_t pid = 0;
  int fd = -1;
  std::size_t size = 0;
  std::array<std::uint64_t, 2> tag = {};
};

/// A call of an environment.
enum class EnvCall : std::uint32_t { step, reset, observe, mask };

/// What a job says right before it ends because an environment hangs.
struct Hang {
  int job = 0;
  int id = 0;
  EnvCall call = EnvCall::step;
};

/// The part of a VecEnv that one process has.
struct HostPlan {
  int job = 0;
  int first = 0;
  int count = 0;
  std::uint8_t autoreset = 0;
  /// The limit of a call of an environment; 0: none.
  std::chrono::milliseconds step_timeout{0};
  /// Where a job tells which environment hung; there is one if there is a limit.
  std::optional<Queue<Hang>> hangs = {};

  void fiber_pack(Writer& writer) const;
  static HostPlan fiber_unpack(Reader& reader);
};

using MakeEnvironment = std::function<std::unique_ptr<AnyEnvironment>()>;

/// Some environments of a VecEnv in a job. Environments are made by the first call, so
/// that their failure is the caller's, not the supervisor's.
class EnvHost {
public:
  EnvHost(MakeEnvironment make, const HostPlan& plan);
  ~EnvHost();

  /// The process that this lives in.
  ProcessMark process() const { return process_mark(); }
  /// Makes the environments and returns the spaces of one.
  Spaces open();
  /// Maps the driver's memory. Returns whether it is there, and not in this process.
  bool attach(SharedPlace place);
  /// Takes up these histories, then follows the orders in the driver's memory until it is
  /// told to leave. False if the memory is not there.
  bool serve(SharedPlace place, std::vector<History> histories);
  /// Follows orders that came by message.
  StepReply step(const StepRequest& request);

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The jobs of a VecEnv, as its driver reaches them.
class EnvHosts {
public:
  virtual ~EnvHosts() = default;

  /// An environment of this process.
  virtual std::unique_ptr<AnyEnvironment> make() = 0;
  /// Starts a job for each plan; returns when all are up.
  virtual void start(const std::vector<HostPlan>& plans, const Resources& resources) = 0;
  virtual Future<ProcessMark> process(std::size_t job) = 0;
  virtual Future<Spaces> open(std::size_t job) = 0;
  virtual Future<bool> attach(std::size_t job, const SharedPlace& place) = 0;
  virtual Future<bool> serve(std::size_t job, const SharedPlace& place,
                             std::vector<History> histories) = 0;
  virtual Future<StepReply> step(std::size_t job, StepRequest request) = 0;
  /// How often the job was started again, and why the last time.
  virtual ChildInfo info(std::size_t job) const = 0;
  /// How often all of them were started again.
  virtual std::size_t restarts() const = 0;
  /// Ends the jobs.
  virtual void stop() = 0;

  /// For tests: never use shared memory.
  bool messages_only = false;
};

/// Starts the job of each plan by `spawn(options, job)`, several at once.
void start_hosts(std::size_t jobs, const Resources& resources,
                 std::vector<std::string>& names,
                 const std::function<void(const SpawnOptions&, std::size_t)>& spawn);
SupervisorOptions host_supervision();
std::size_t restarts_of(const Supervisor& supervisor);
ChildInfo child_of(const Supervisor& supervisor, const std::string& name);

/// An EnvHost that knows how its environments are made.
template <class Make>
class TypedHost : public EnvHost {
public:
  TypedHost(Make make, HostPlan plan) : EnvHost(MakeEnvironment(std::move(make)), plan) {}
};

template <class Make>
class TypedHosts final : public EnvHosts {
public:
  explicit TypedHosts(Make make) : make_(std::move(make)) {}

  std::unique_ptr<AnyEnvironment> make() override { return make_(); }
  void start(const std::vector<HostPlan>& plans, const Resources& resources) override {
    supervisor_ = std::make_unique<Supervisor>(host_supervision());
    hosts_.resize(plans.size());
    start_hosts(
      plans.size(), resources, names_, [&](const SpawnOptions& options, std::size_t job) {
        hosts_[job] =
          supervisor_->template spawn<TypedHost<Make>>(options, make_, plans[job]);
      });
  }
  Future<ProcessMark> process(std::size_t job) override {
    return hosts_[job].template async<&EnvHost::process>();
  }
  Future<Spaces> open(std::size_t job) override {
    return hosts_[job].template async<&EnvHost::open>();
  }
  Future<bool> attach(std::size_t job, const SharedPlace& place) override {
    return hosts_[job].template async<&EnvHost::attach>(place);
  }
  Future<bool> serve(std::size_t job, const SharedPlace& place,
                     std::vector<History> histories) override {
    return hosts_[job].template async<&EnvHost::serve>(place, std::move(histories));
  }
  Future<StepReply> step(std::size_t job, StepRequest request) override {
    return hosts_[job].template async<&EnvHost::step>(std::move(request));
  }
  ChildInfo info(std::size_t job) const override {
    return child_of(*supervisor_, names_[job]);
  }
  std::size_t restarts() const override { return restarts_of(*supervisor_); }
  void stop() override {
    if (supervisor_)
      supervisor_->stop();
  }

private:
  Make make_;
  std::unique_ptr<Supervisor> supervisor_;
  std::vector<Ref<TypedHost<Make>>> hosts_;
  std::vector<std::string> names_;
};

/// Hosts whose environments are made by `make`.
template <class Make>
std::unique_ptr<EnvHosts> hosts_of(Make make) {
  auto bound = fiber::bind(std::move(make)); // A function by itself is no value.
  return std::make_unique<TypedHosts<decltype(bound)>>(std::move(bound));
}

} // namespace fiber::rl::detail
