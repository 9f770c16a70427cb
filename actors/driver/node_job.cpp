// SPDX-License-Identifier: Apache-2.0
#include "actors/driver/node_job.hpp"

#include <cerrno>
#include <csignal>

#include "actors/pool/running_table.hpp"
#include "actors/protocol/node_boot.hpp"
#include "backends/output/crash_line.hpp"
#include "backends/shortage.hpp"

namespace fiber::actors {
namespace {

std::string in_brackets(const std::string& text) {
  return text.empty() ? "" : " (" + text + ")";
}

/// Adds the reason why a job could not become a node, from its exit code.
void explain_exit(NodeLost& lost, const NodeStartup& start) {
  if (lost.exit_code == exit_other_build) {
    lost.cause = LossCause::other_build;
    lost.reason = "the job runs another build than this program, which is build " +
                  start.build + "; make its image anew from this program";
  } else if (lost.exit_code == exit_shortage) {
    lost.cause = LossCause::shortage;
    lost.status = EAGAIN;
    lost.reason = "its machine has no room for the threads and the memory of one more "
                  "job: Resource temporarily unavailable";
  } else if (lost.exit_code == exit_unreachable) {
    lost.cause = LossCause::unreachable;
    lost.reason = "jobs cannot reach " + start.dialled +
                  "; set advertise_address, or run the driver where the jobs are";
  } else if (lost.cause == LossCause::late && start.runs && !start.linked) {
    lost.reason += ": it runs, but has not connected; does the image run this program? "
                   "Can it reach this driver (advertise_address)?";
  } else if (lost.exit_code == 0 && !start.linked) {
    lost.reason = "it ended with exit code 0 before it reached fiber::init; does the "
                  "image run this program?";
  }
}

/// Gives the reason if a job was killed after its link had ended.
void explain_lost_link(NodeLost& lost, const backends::JobEvent& event,
                       const NodeStartup& start) {
  if (start.ran_on == NodeStartup::RanOn::perhaps) {
    if (event.detail.starts_with("killed by SIGKILL")) // Not "OOMKilled".
      lost.reason = event.detail +
                    "; its connection to the driver had already ended: " + start.link_end;
    return;
  }
  auto& report = lost.last.crash.emplace(); // As a job would report it.
  report.signal = SIGKILL;
  report.uncaught = start.link_end;
}

} // namespace

void NodeStartup::outlived_link(const backends::Job* job) {
  if (!asked_to_end)
    ran_on = job && job->page ? RanOn::yes : RanOn::perhaps;
}

NodeJob make_node_job(const NodeServices& services, const NodeTemplate& job_template,
                      const NodeOrder& order, std::uint64_t incarnation) {
  NodeBoot boot;
  boot.incarnation = incarnation;
  boot.name = order.name;
  boot.first_rank = order.first_rank;
  boot.slots = order.slots;
  boot.heartbeat_interval = services.heartbeat_timeout / 4;
  boot.lease = services.lease;
  boot.log_level = services.log_level;
  boot.chaos = services.chaos;
  boot.max_retries = job_template.max_retries;
  boot.task_timeout = job_template.task_timeout;
  boot.trace = job_template.trace != nullptr;
  boot.use = job_template.use;
  boot.session_tag = services.session_tag;
  boot.initializer = job_template.initializer.open != nullptr;
  NodeJob job;
  if (services.address)
    job.spec.keys = services.address(boot);
  job.dialled = boot.address();
  job.spec.driver = job.dialled;
  job.spec.name = order.name + "-" + std::to_string(incarnation);
  job.spec.link = boot.host.empty();
  job.spec.page_bytes = order.slots * SlotProgress::stride + JobLedger::bytes;
  job.spec.resources = job_template.resources;
  job.spec.image = job_template.image;
  job.spec.boot = boot.pack();
  return job;
}

TaskResults attach_handles(TaskResults results, std::uint64_t incarnation,
                           ObjectSpace& objects) {
  if (results.held.empty())
    return results;
  struct ResultsWithHandles {
    Payload bytes;
    detail::KeptObjects objects;
  };
  auto owner = std::make_shared<ResultsWithHandles>();
  owner->bytes = std::move(results.bytes);
  owner->objects = objects.take_over(incarnation, results.held, results.parcel);
  results.bytes = Payload(owner, owner->bytes.bytes());
  return results;
}

LossCause cause_of_refusal(int status, const std::string& words) {
  return backends::is_shortage(status, words) ? LossCause::shortage : LossCause::refused;
}

std::string reason_of_initializer(const Failure& failure) {
  return "the initializer threw " + failure.type + ": " + failure.what;
}

void describe_end(NodeLost& lost, const backends::JobEvent& event,
                  const NodeStartup& start, bool keep_output) {
  lost.exit_code = event.exit_code;
  lost.confirmed = event.confirmed;
  auto failed = event.kind == backends::JobEvent::Kind::failed;
  if (failed && lost.cause == LossCause::ended) {
    lost.cause = cause_of_refusal(event.status, event.detail);
    lost.status = event.status;
  }
  lost.last = read_last_output(lost.output);
  lost.output = keep_output ? backends::without_crash_lines(lost.output) : "";
  drop_other_crash(lost.last, lost.exit_code);
  if (!start.up)
    explain_exit(lost, start);
  else if (start.ran_on != NodeStartup::RanOn::no && lost.exit_code == -SIGKILL &&
           !lost.last.crash)
    explain_lost_link(lost, event, start);
  if (lost.reason.empty())
    lost.reason =
      event.detail + (lost.last.crash ? in_brackets(lost.last.crash->detail()) : "");
  else if (failed && !event.detail.empty() && lost.cause != LossCause::queued)
    lost.reason += ": " + event.detail; // The detail names what the job waited for.
}

} // namespace fiber::actors
