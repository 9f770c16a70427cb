// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <utility>

#include "fiber/as_completed.hpp"
#include "fiber/error.hpp"
#include "rl/vec/loss_guard.hpp"
#include "rl/vec/workers.hpp"

namespace fiber::rl::vec {
namespace {

class WorkByMessages final : public Workers {
public:
  WorkByMessages(Desk desk, detail::EnvHosts& hosts, std::vector<detail::HostPlan> plans)
    : desk_(desk), hosts_(hosts), plans_(std::move(plans)), guard_(desk, hosts, plans_) {}

  void post(std::span<const int> ids) override {
    std::vector<std::vector<int>> by_job(plans_.size());
    for (const int id : ids)
      by_job[job_of(id)].push_back(id);
    for (std::size_t job = 0; job < by_job.size(); ++job)
      if (!by_job[job].empty())
        send(job, std::move(by_job[job]), false);
    restoring_ = false;
  }

  void collect(std::size_t need, std::vector<int>& ready) override {
    for (const auto enough = ready.size() + need; ready.size() < enough;) {
      std::vector<Future<detail::StepReply>> replies;
      for (const auto& call : calls_)
        replies.push_back(call.reply);
      auto ended = fiber::wait(replies, 1, std::chrono::seconds(1));
      if (ended.empty())
        guard_.check_starts();
      std::vector<Call> finished;
      for (const auto at : ended)
        finished.push_back(std::move(calls_[at]));
      std::erase_if(calls_, [](const Call& call) { return call.ids.empty(); });
      for (auto& call : finished)
        finish(call, ready);
    }
  }

  void restore() override { restoring_ = true; }

private:
  /// Orders that one job has.
  struct Call {
    std::size_t job = 0;
    std::vector<int> ids;
    Future<detail::StepReply> reply;
  };

  std::size_t job_of(int id) const {
    const auto after = std::ranges::upper_bound(plans_, id, {}, &detail::HostPlan::first);
    return static_cast<std::size_t>(after - plans_.begin()) - 1;
  }

  /// `forgotten`: the job does not know the episodes of these environments.
  void send(std::size_t job, std::vector<int> ids, bool forgotten) {
    detail::StepRequest request;
    for (const int id : ids) {
      request.orders.push_back(desk_.book.pending(id));
      const auto action = desk_.book.sent(id);
      request.actions.insert(request.actions.end(), action.begin(), action.end());
      if (restoring_ || (forgotten && desk_.book.retraces(id)))
        request.histories.push_back(desk_.book.history(id));
    }
    auto reply = hosts_.step(job, std::move(request));
    calls_.push_back({job, std::move(ids), std::move(reply)});
  }

  void finish(Call& call, std::vector<int>& ready) {
    try {
      take(call, call.reply.get(), ready);
    } catch (const WorkerLost& lost) {
      guard_.lost(call.job, call.ids, lost.what());
      send(call.job, std::move(call.ids), true);
    }
  }

  void take(const Call& call, const detail::StepReply& reply, std::vector<int>& ready) {
    check(call, reply);
    guard_.answered(call.job);
    const auto width = desk_.rows.shape().observation_size;
    const auto mask_width = desk_.rows.shape().mask_size;
    std::vector<int> again;
    std::size_t finals = 0, errors = 0;
    for (std::size_t i = 0; i < call.ids.size(); ++i) {
      const auto id = call.ids[i];
      const auto row = static_cast<std::size_t>(id);
      const auto& facts = reply.facts[i];
      if (facts.lost != 0 && desk_.book.retraces(id)) {
        // The job was replaced while it had no order, and the new one took this as the
        // first.
        again.push_back(id);
        continue;
      }
      desk_.rows.cell(row).facts = facts;
      std::ranges::copy(std::span(reply.observations).subspan(i * width, width),
                        desk_.rows.observation(row).begin());
      std::ranges::copy(std::span(reply.masks).subspan(i * mask_width, mask_width),
                        desk_.rows.mask(row).begin());
      if (is_final(facts))
        std::ranges::copy(
          std::span(reply.final_observations).subspan(finals++ * width, width),
          desk_.rows.final_observation(row).begin());
      if (facts.failed != 0)
        desk_.rows.set_error(row, reply.errors[errors++]);
      if (facts.lost == 0)
        guard_.gave_row(id);
      desk_.book.accept(id);
      ready.push_back(id);
    }
    if (!again.empty())
      send(call.job, std::move(again), true);
  }

  bool is_final(const detail::RowFacts& facts) const {
    return desk_.options.autoreset == Autoreset::same_step && detail::has_final(facts);
  }

  /// What a job sends is not trusted to fit.
  void check(const Call& call, const detail::StepReply& reply) const {
    const auto width = desk_.rows.shape().observation_size;
    const auto finals = std::ranges::count_if(
      reply.facts, [&](const detail::RowFacts& facts) { return is_final(facts); });
    const auto failures =
      std::ranges::count_if(reply.facts, [](const auto& facts) { return facts.failed; });
    if (reply.facts.size() != call.ids.size() ||
        reply.observations.size() != call.ids.size() * width ||
        reply.masks.size() != call.ids.size() * desk_.rows.shape().mask_size ||
        reply.final_observations.size() != static_cast<std::size_t>(finals) * width ||
        reply.errors.size() != static_cast<std::size_t>(failures))
      throw Error("job " + std::to_string(call.job) +
                  " of a VecEnv answered with rows of another size");
  }

  Desk desk_;
  detail::EnvHosts& hosts_;
  const std::vector<detail::HostPlan> plans_;
  LossGuard guard_;
  std::vector<Call> calls_;
  bool restoring_ = false; ///< The next orders come with all histories.
};

} // namespace

std::unique_ptr<Workers> work_by_messages(Desk desk, detail::EnvHosts& hosts,
                                          std::vector<detail::HostPlan> plans) {
  return std::make_unique<WorkByMessages>(desk, hosts, std::move(plans));
}

} // namespace fiber::rl::vec
