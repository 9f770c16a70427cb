// SPDX-License-Identifier: Apache-2.0
#include "libfiber/ring/ring_core.hpp"

#include <optional>
#include <string>
#include <utility>

#include "actors/manager/object_host.hpp"
#include "actors/process/process_actor.hpp"
#include "actors/process/process_trace.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "fiber/detail/packed_item.hpp"
#include "fiber/session.hpp"
#include "libfiber/ring/ring_part.hpp"
#include "libfiber/session/inline_patience.hpp"
#include "libfiber/session/resource_check.hpp"
#include "wire/error.hpp"
#include "wire/own_address.hpp"

namespace fiber::detail {
namespace {

/// Throws ConfigError if the members would talk to each other over a network, which Gloo
/// does not encrypt, and the settings do not allow that.
void check_network(const Runtime& runtime) {
  auto& settings = runtime.settings();
  auto& address = runtime.dialled_address();
  auto leaves = [&] {
    try {
      return !wire::is_loopback(address);
    } catch (const wire::WireError&) { // Perhaps only jobs can resolve the name.
      return true;
    }
  };
  if (settings.ring_plaintext || address.empty() || !leaves())
    return;
  auto place = settings.places.find("ring_plaintext");
  throw ConfigError(
    "ring_plaintext", place == settings.places.end() ? "the settings" : place->second,
    "true (FIBER_RING_PLAINTEXT=1, or fiber::Config), if nobody else can listen there",
    "the members of a ring would talk to each other over the network by Gloo, which does "
    "not encrypt (jobs reach this process at " +
      address + ")");
}

/// Opens a checkpoint and packs its handle for the members.
PackedItem open_checkpoint(const std::optional<std::string>& path) {
  return PackedItem::of(
    [&](Writer& writer) { CheckpointHandle::open(path, true).fiber_pack(writer); });
}

/// Holds the actor of one run, until the session ends.
struct RingRun final : public ActorHolder {
  void release() override { actor = nullptr; }
  caf::actor actor;
};

} // namespace

RingCore::RingCore(const RingOptions& options, AnyCallable call)
  : runtime_(Runtime::require()), options_(options), call_(std::move(call)) {
  if (options_.size == 0)
    options_.size = runtime_->is_inline() ? 1 : cpu_count();
  check_resources(options_.resources, "RingOptions");
  if (auto& asked = call_.resources()) {
    check_resources(*asked, "meta()");
    if (options_.resources == Resources{})
      options_.resources = *asked;
    check_grant(options_.resources, *asked, "the ring");
  }
  if (options_.max_restarts < -1)
    throw ConfigError("max_restarts", "RingOptions", "-1 (no limit), 0 or more",
                      std::to_string(options_.max_restarts) + " can't be used");
  if (runtime_->is_inline() && options_.size > 1)
    throw Error("a ring of " + std::to_string(options_.size) +
                " members can't run here: inline runs on one thread; make it of 1, or "
                "choose another backend");
  if (options_.size > 1)
    check_network(*runtime_);
  if (!options_.checkpoint.empty())
    checkpoint_ = open_checkpoint(options_.checkpoint);
  actors::check_size(call_.state().size());
  Bytes ignored;
  Writer place(ignored); // Packs on trial: a callable that cannot be packed is reported
                         // to the caller here.
  pack_code(place, code_of(call_.open()), CodeKind::open);
}

actors::RingSettings RingCore::settings() const {
  actors::RingSettings ring;
  ring.name = "Ring-" + std::to_string(runtime_->next_process());
  ring.size = options_.size;
  ring.max_restarts = options_.max_restarts;
  ring.objects = runtime_->objects();
  ring.cause_timeout = runtime_->services()->heartbeat_timeout;
  ring.make_task = task_maker();
  ring.start_job = job_starter(ring.name);
  return ring;
}

/// Returns the function that makes the task of a member.
RingCore::MakeTask RingCore::task_maker() const {
  auto checkpoint =
    checkpoint_.bytes.empty() ? open_checkpoint(std::nullopt) : checkpoint_;
  return [call = call_, size = options_.size, session = runtime_->session_tag(),
          plaintext = runtime_->settings().ring_plaintext, check = options_.check,
          checkpoint = std::move(checkpoint)](const actors::RingPlace& place,
                                              std::shared_ptr<actors::ResultSink> sink) {
    auto of = std::make_shared<actors::Call>();
    of->callable = call;
    of->single = true;
    of->sink = std::move(sink);
    Bytes arguments;
    Writer writer(arguments);
    pack(writer, RingSeat{.rank = place.rank,
                          .size = size,
                          .attempt = place.attempt,
                          .session = session,
                          .board = place.board->held_id(),
                          .plaintext = plaintext ? 1U : 0U,
                          .check = check ? 1U : 0U});
    writer.raw(checkpoint.bytes.data(), checkpoint.bytes.size());
    auto task = std::make_shared<actors::TaskBatch>();
    task->call = std::move(of);
    task->first = place.rank;
    task->ends = {arguments.size()};
    task->arguments = Payload(std::move(arguments));
    task->kept = checkpoint.kept;
    task->kept.push_back(place.board);
    return task;
  };
}

/// Returns the function that starts the job of a member.
RingCore::StartJob RingCore::job_starter(const std::string& ring_name) const {
  auto services = runtime_->services();
  auto job = std::make_shared<actors::NodeTemplate>();
  auto& has = options_.resources;
  job->resources = {has.cpu, has.memory_mb, has.gpu};
  job->use = actors::NodeUse::future;
  job->kind = "ring";
  job->max_retries = options_.max_restarts; // Chaos mode spares jobs without any.
  std::vector<std::uint64_t> rows;          // Of the trace: each member has its own.
  for (std::size_t rank = 0; services->trace && rank < options_.size; ++rank)
    rows.push_back(runtime_->next_process());
  return
    [services, job, rows = std::move(rows), ring_name, nested = runtime_->is_inline()](
      caf::event_based_actor* self, const actors::RingPlace& place,
      std::shared_ptr<const actors::TaskBatch> task, std::function<void()> ended) {
      auto name = ring_name + "." + std::to_string(place.rank);
      std::shared_ptr<actors::ProcessTrace> trace;
      if (services->trace)
        trace = std::make_shared<actors::ProcessTrace>(services->trace,
                                                       rows.at(place.rank), name);
      return actors::spawn_process(
        self->system(),
        {.name = name,
         .task = std::move(task),
         .attempt = place.attempt,
         .counts = "rank",
         .nested = nested,
         .start_node =
           [services, job](caf::event_based_actor* parent, const caf::actor& process,
                           const actors::NodeOrder& order) {
             return actors::spawn_node_link(parent, services, job, process, order);
           },
         .backend = services->backend,
         .trace = trace,
         .ended = std::move(ended)});
    };
}

std::vector<RawOutcome> RingCore::run() const {
  using namespace std::chrono_literals;
  runtime_->check_open();
  auto ring = settings();
  auto end = ring.end;
  auto run = std::make_shared<RingRun>();
  runtime_->enlist(run);
  runtime_->view().add(std::make_shared<RingPart>(ring));
  runtime_->spawn("ring", run->actor, [&](caf::actor_system& system) {
    return actors::spawn_ring(system, std::move(ring));
  });
  if (runtime_->is_inline()) {
    InlinePatience patience;
    while (!end->is_set()) {
      if (runtime_->run_one()) {
        patience.renew();
        continue;
      }
      patience.check();
      end->wait_until(std::chrono::steady_clock::now() + 1ms);
    }
  } else {
    actors::ObjectHost::Pause pause;
    end->wait_until(Results::forever);
  }
  auto how = end->value();
  if (how->error)
    std::rethrow_exception(how->error);
  return std::move(how->results);
}

RingHandle::RingHandle(const RingOptions& options, AnyCallable call)
  : core_(std::make_shared<RingCore>(options, std::move(call))) {}

std::vector<RawOutcome> RingHandle::run() const {
  return core_->run();
}

} // namespace fiber::detail
