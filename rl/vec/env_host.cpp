// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/detail/env_host.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "rl/vec/lanes.hpp"
#include "rl/vec/meeting.hpp"
#include "rl/vec/rows.hpp"

namespace fiber::rl::detail {

using vec::Lanes;
using vec::Rows;

// -- messages --

void History::fiber_pack(Writer& writer) const {
  pack(writer, id);
  pack(writer, begun);
  pack(writer, done);
  pack(writer, seed);
  pack(writer, actions);
}

History History::fiber_unpack(Reader& reader) {
  History history;
  history.id = unpack<int>(reader);
  history.begun = unpack<bool>(reader);
  history.done = unpack<bool>(reader);
  history.seed = unpack<std::uint64_t>(reader);
  history.actions = unpack<std::vector<float>>(reader);
  return history;
}

void StepRequest::fiber_pack(Writer& writer) const {
  pack(writer, orders);
  pack(writer, actions);
  pack(writer, histories);
}

StepRequest StepRequest::fiber_unpack(Reader& reader) {
  StepRequest request;
  request.orders = unpack<std::vector<Order>>(reader);
  request.actions = unpack<std::vector<float>>(reader);
  request.histories = unpack<std::vector<History>>(reader);
  return request;
}

void StepReply::fiber_pack(Writer& writer) const {
  pack(writer, facts);
  pack(writer, observations);
  pack(writer, masks);
  pack(writer, final_observations);
  pack(writer, errors);
}

StepReply StepReply::fiber_unpack(Reader& reader) {
  StepReply reply;
  reply.facts = unpack<std::vector<RowFacts>>(reader);
  reply.observations = unpack<std::vector<float>>(reader);
  reply.masks = unpack<std::vector<std::uint8_t>>(reader);
  reply.final_observations = unpack<std::vector<float>>(reader);
  reply.errors = unpack<std::vector<std::string>>(reader);
  return reply;
}

void HostPlan::fiber_pack(Writer& writer) const {
  pack(writer, job);
  pack(writer, first);
  pack(writer, count);
  pack(writer, autoreset);
  pack<std::int64_t>(writer, step_timeout.count());
  pack(writer, hangs);
}

HostPlan HostPlan::fiber_unpack(Reader& reader) {
  HostPlan plan;
  plan.job = unpack<int>(reader);
  plan.first = unpack<int>(reader);
  plan.count = unpack<int>(reader);
  plan.autoreset = unpack<std::uint8_t>(reader);
  plan.step_timeout = std::chrono::milliseconds(unpack<std::int64_t>(reader));
  plan.hangs = unpack<std::optional<Queue<Hang>>>(reader);
  return plan;
}

// -- the host --

class EnvHost::Impl {
public:
  Impl(MakeEnvironment make, const HostPlan& plan)
    : make_(std::move(make)), plan_(plan) {}

  Lanes& lanes() {
    if (!lanes_) {
      lanes_ = std::make_unique<Lanes>(make_, plan_.first, plan_.count,
                                       static_cast<Autoreset>(plan_.autoreset));
      if (plan_.hangs)
        watch_calls();
    }
    return *lanes_;
  }

  bool attach(const SharedPlace& place) {
    if (!rows_)
      rows_ = Rows::open(place);
    return rows_ != nullptr;
  }

  void replay(const std::vector<History>& histories) {
    for (const auto& history : histories) {
      check(history.id);
      lanes().replay(history);
    }
  }

  void serve() {
    check_shape();
    auto& meeting = rows_->meeting();
    const auto job = static_cast<std::size_t>(plan_.job);
    auto& door = rows_->door(job);
    while (meeting.leave.load() == 0) {
      const auto seen = door.posted.load();
      if (const auto answered = answer_all(); answered > 0)
        vec::count_rows(meeting, answered);
      vec::await_post(*rows_, job, seen);
    }
  }

  StepReply step(const StepRequest& request);

private:
  void watch_calls() {
    watch_ = std::make_unique<CallWatch>(
      plan_.step_timeout, [job = plan_.job, hangs = *plan_.hangs](std::uint32_t what) {
        hangs.put(Lanes::watched(job, what), std::chrono::milliseconds(500));
      });
    lanes_->watch(*watch_);
  }

  void check(int id) {
    if (!lanes().has(id))
      throw std::out_of_range("environment " + std::to_string(id) + " is not here");
  }

  void check_shape() {
    const auto& shape = rows_->shape();
    const auto& spaces = lanes().spaces();
    if (shape.observation_size != spaces.observation_size() ||
        shape.action_size != spaces.action_size() ||
        shape.mask_size != spaces.mask_size() ||
        shape.envs < static_cast<std::size_t>(plan_.first + plan_.count))
      throw std::logic_error("the environments have other spaces than the first one");
  }

  /// Follows all orders that are there. Returns how many rows are published and not
  /// counted yet.
  std::uint32_t answer_all() {
    std::uint32_t uncounted = 0;
    for (int id = plan_.first; id < plan_.first + plan_.count; ++id) {
      auto& cell = rows_->cell(static_cast<std::size_t>(id));
      const auto asked = cell.asked.load(std::memory_order_acquire);
      if (asked == cell.answered.load(std::memory_order_relaxed))
        continue;
      answer(id, cell);
      cell.answered.store(asked, std::memory_order_release);
      if (rows_->meeting().every_row != 0)
        vec::count_rows(rows_->meeting(), 1);
      else
        ++uncounted;
    }
    return uncounted;
  }

  void answer(int id, Rows::Cell& cell) {
    const auto row = static_cast<std::size_t>(id);
    std::string error;
    cell.facts = lanes_->follow(
      {.id = id, .op = cell.op, .next_seed = cell.next_seed}, rows_->action(row),
      {rows_->observation(row), rows_->final_observation(row), rows_->mask(row), error});
    if (cell.facts.failed != 0)
      rows_->set_error(row, error);
  }

  MakeEnvironment make_;
  const HostPlan plan_;
  std::unique_ptr<Lanes> lanes_;
  std::unique_ptr<CallWatch> watch_;
  std::unique_ptr<Rows> rows_;
};

StepReply EnvHost::Impl::step(const StepRequest& request) {
  replay(request.histories);
  const auto observation_size = lanes().spaces().observation_size();
  const auto action_size = lanes().spaces().action_size();
  const auto mask_size = lanes().spaces().mask_size();
  const auto count = request.orders.size();
  if (request.actions.size() != count * action_size)
    throw std::invalid_argument("the actions do not fit the orders");
  StepReply reply;
  reply.observations.resize(count * observation_size);
  reply.masks.resize(count * mask_size);
  std::vector<float> last(observation_size);
  for (std::size_t i = 0; i < count; ++i) {
    check(request.orders[i].id);
    std::string error;
    const auto facts = lanes().follow(
      request.orders[i], std::span(request.actions).subspan(i * action_size, action_size),
      {std::span(reply.observations).subspan(i * observation_size, observation_size),
       last, std::span(reply.masks).subspan(i * mask_size, mask_size), error});
    reply.facts.push_back(facts);
    if (facts.failed != 0)
      reply.errors.push_back(std::move(error));
    if (plan_.autoreset == static_cast<std::uint8_t>(Autoreset::same_step) &&
        has_final(facts))
      reply.final_observations.insert(reply.final_observations.end(), last.begin(),
                                      last.end());
  }
  return reply;
}

EnvHost::EnvHost(MakeEnvironment make, const HostPlan& plan)
  : impl_(std::make_unique<Impl>(std::move(make), plan)) {}
EnvHost::~EnvHost() = default;

Spaces EnvHost::open() {
  return impl_->lanes().spaces();
}

bool EnvHost::attach(SharedPlace place) {
  return impl_->attach(place);
}

bool EnvHost::serve(SharedPlace place, std::vector<History> histories) {
  if (!impl_->attach(place))
    return false;
  impl_->replay(histories);
  impl_->serve();
  return true;
}

StepReply EnvHost::step(const StepRequest& request) {
  return impl_->step(request);
}

} // namespace fiber::rl::detail
