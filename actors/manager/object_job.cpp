// SPDX-License-Identifier: Apache-2.0
#include "actors/manager/object_job.hpp"

#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actors/manager/object_host.hpp"

namespace fiber::actors {
namespace {

/// Notes why a job ended, from the outcome of its one task.
class JobSink final : public ResultSink {
public:
  void deliver(std::vector<Completion> completions) override {
    if (!completions.empty())
      why = completions.front().outcome.error;
  }
  std::exception_ptr why;
};

} // namespace

caf::actor start_object_job(caf::event_based_actor* parent, const ObjectJob& job,
                            std::function<void(std::exception_ptr why)> ended,
                            std::shared_ptr<ProcessNews> news) {
  auto sink = std::make_shared<JobSink>();
  auto call = std::make_shared<Call>();
  call->callable = AnyCallable::opened_by( // The arguments hold the rest.
    detail::entry<detail::CodeKind::open, &open_object_host>());
  call->single = true;
  call->sink = sink;
  auto task = std::make_shared<TaskBatch>();
  auto arguments = pack_host_arguments(job.threads, job.control->held_id());
  task->call = std::move(call);
  task->ends = {arguments.size()};
  task->arguments = Payload(std::move(arguments));
  task->kept = {job.control};
  return job.start(parent, job.name, std::move(task), std::move(news),
                   [sink, ended = std::move(ended)] { ended(sink->why); });
}

} // namespace fiber::actors
