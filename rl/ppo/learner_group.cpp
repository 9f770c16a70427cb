// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/learner_group.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <fiber/ring.hpp>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/environments.hpp"
#include "rl/ppo/peers.hpp"
#include "rl/ppo/seeds.hpp"

namespace fiber::rl::ppo {
namespace {

class RingPeers final : public Peers {
public:
  explicit RingPeers(RingMember& member) : member_(member) {}

  std::size_t rank() const override { return member_.rank(); }
  std::size_t size() const override { return member_.size(); }

  void average(std::span<float> numbers) override {
    member_.allreduce(numbers);
    for (auto& number : numbers)
      number /= static_cast<float>(member_.size());
  }

  std::vector<Bytes> gather(const Bytes& told) override {
    std::array size = {static_cast<std::int64_t>(told.size())};
    auto sizes = member_.allgather(size);
    constexpr auto width = sizeof(std::int64_t);
    auto longest = static_cast<std::size_t>(std::ranges::max(sizes));
    std::vector<std::int64_t> own((longest + width - 1) / width);
    std::memcpy(own.data(), told.data(), told.size());
    auto all = member_.allgather(own);
    std::vector<Bytes> by_rank;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto bytes = std::as_bytes(std::span(all).subspan(i * own.size(), own.size()));
      by_rank.emplace_back(bytes.begin(), bytes.begin() + sizes[i]);
    }
    return by_rank;
  }

private:
  RingMember& member_;
};

/// All learners get the order that the first one takes.
LearnerOrder next_order(const SimpleQueue<LearnerOrder>& orders, RingMember& member) {
  auto order = member.rank() == 0 ? orders.get() : LearnerOrder();
  std::array words = {static_cast<std::int64_t>(order.update),
                      static_cast<std::int64_t>(order.state),
                      static_cast<std::int64_t>(order.end)};
  member.broadcast(words, 0);
  return {static_cast<std::uint64_t>(words[0]), words[1] != 0, words[2] != 0};
}

std::vector<Training::State> states_of_all(const Training& training, Peers& peers) {
  std::vector<Training::State> states;
  for (auto& bytes : peers.gather(packed(training.state())))
    states.push_back(unpacked<Training::State>(bytes));
  return states;
}

/// Run by each member of the ring. After a loss it begins at the ring's checkpoint, or at
/// `loaded` if there is none.
void follow_orders(const PpoOptions& options, const std::vector<Training::State>& loaded,
                   const SimpleQueue<LearnerOrder>& orders,
                   const Queue<LearnerReport>& reports, RingMember& member) {
  RingPeers peers(member);
  Training training(options, &peers);
  auto states = member.checkpoint().load<std::vector<Training::State>>().value_or(loaded);
  if (!states.empty())
    training.go_on_from(std::move(states.at(member.rank())));
  member.barrier(); // All have loaded the same.
  auto first = member.rank() == 0;
  if (first)
    reports.put({.begun = true});
  for (;;) {
    auto order = next_order(orders, member);
    if (order.end)
      return;
    while (training.last_row().update < order.update)
      training.update();
    LearnerReport report;
    if (order.state)
      report.states = states_of_all(training, peers);
    if (!first)
      continue;
    if (order.state)
      member.checkpoint().save(report.states);
    report.row = training.last_row();
    report.policy = training.policy();
    report.summary = training.summary();
    reports.put(report);
  }
}

FileLabel group_label(const PpoOptions& options, const PolicySpec& spec) {
  return {.kind = "fiber-ppo-group-checkpoint",
          .version = 1,
          .settings = {{"environment", options.environment},
                       {"network", spec.describe()},
                       {"seed", std::to_string(options.seed)},
                       {"learners", std::to_string(options.learners)},
                       {"settings", options.describe()}}};
}

} // namespace

LearnerGroup::LearnerGroup(const PpoOptions& options)
  : options_(options),
    spec_(options.policy_spec(make_environment(options.environment)->spaces())),
    policy_{.environment = options.environment,
            .spec = spec_,
            .parameters =
              initial_parameters(spec_, seed_for(Use::networks, options.seed))},
    reports_(4) {}

LearnerGroup::~LearnerGroup() {
  if (!learning_.valid())
    return;
  try {
    orders_.put({.end = true});
    for (;;)
      if (reports_.get().begun) // Again: the order was lost with those who had it.
        orders_.put({.end = true});
  } catch (const Closed&) { // The ring has ended, and start() has closed the reports.
  }
  learning_.wait();
}

void LearnerGroup::start() const {
  learning_ = std::async(std::launch::async, [this] {
    auto close = [](const Queue<LearnerReport>* reports) { reports->close(); };
    std::unique_ptr<const Queue<LearnerReport>, decltype(close)> at_end(&reports_);
    Ring ring({.size = options_.learners, .max_restarts = -1},
              fiber::bind(follow_orders, options_, loaded_, orders_, reports_));
    ring.run();
  });
}

LearnerReport LearnerGroup::ask(const LearnerOrder& order) const {
  if (!learning_.valid())
    start(); // The order follows once they have begun.
  else
    orders_.put(order);
  try {
    for (;;) {
      auto report = reports_.get();
      if (report.begun) {
        ++begun_;
        orders_.put(order);
      } else if (report.row.update == order.update &&
                 (!order.state || !report.states.empty())) {
        return report;
      } // Else it answers an order that was repeated.
    }
  } catch (const Closed&) {
    learning_.get(); // Throws why the ring has ended.
    throw;
  }
}

bool LearnerGroup::done() const {
  auto a_rollout = options_.envs * options_.rollout;
  return row_.steps + a_rollout > options_.steps;
}

const PpoUpdate& LearnerGroup::update() {
  auto report = ask({.update = row_.update + 1});
  row_ = report.row;
  policy_ = std::move(report.policy);
  summary_ = std::move(report.summary);
  return row_;
}

std::string LearnerGroup::summary() const {
  const auto lost = begun_ - 1;
  std::string text;
  if (lost > 0)
    text = "learners were lost, and all began again, " + std::to_string(lost) +
           (lost == 1 ? " time" : " times");
  return text + (text.empty() || summary_.empty() ? "" : "; ") + summary_;
}

std::string LearnerGroup::checkpoint() const {
  return pack_state(group_label(options_, spec_),
                    ask({.update = row_.update, .state = true}).states);
}

void LearnerGroup::restore(const std::filesystem::path& name,
                           std::string_view checkpoint) {
  loaded_ = unpack_state<std::vector<Training::State>>(name, checkpoint,
                                                       group_label(options_, spec_));
  auto& first = loaded_.at(0);
  row_ = first.progress.row();
  policy_.parameters = first.learner.parameters;
  if (options_.normalise_observations)
    policy_.observations = first.rollouts.observations.frozen();
}

} // namespace fiber::rl::ppo
