// SPDX-License-Identifier: Apache-2.0
#include "libfiber/objects/object_jobs.hpp"

#include <memory>
#include <utility>

#include <caf/all.hpp>

#include "actors/process/process_actor.hpp"
#include "actors/process/process_trace.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {

actors::ObjectJob::Start starter_of_object_jobs(Runtime& runtime,
                                                const Resources& resources,
                                                std::uint64_t number,
                                                const std::string& name) {
  auto services = runtime.services();
  auto job = std::make_shared<actors::NodeTemplate>();
  job->resources = {resources.cpu, resources.memory_mb, resources.gpu};
  job->use = actors::NodeUse::future;
  job->kind = "objects";
  job->max_retries = 0; // So chaos mode does not kill it.
  std::shared_ptr<actors::ProcessTrace> trace;
  if (services->trace)
    trace = std::make_shared<actors::ProcessTrace>(services->trace, number, name);
  return [services, job, trace](caf::event_based_actor* parent, std::string of,
                                std::shared_ptr<const actors::TaskBatch> task,
                                std::shared_ptr<actors::ProcessNews> news,
                                std::function<void()> ended) {
    return actors::spawn_process(
      parent->system(),
      {.name = std::move(of),
       .task = std::move(task),
       .start_node =
         [services, job](caf::event_based_actor* above, const caf::actor& process,
                         const actors::NodeOrder& order) {
           return actors::spawn_node_link(above, services, job, process, order);
         },
       .backend = services->backend,
       .news = std::move(news),
       .trace = trace,
       .ended = std::move(ended)});
  };
}

} // namespace fiber::detail
