// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/host.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "backends/driver_variables.hpp"
#include "backends/engine/program.hpp"
#include "backends/engine/retry_pause.hpp"
#include "base/code_place.hpp"
#include "base/log.hpp"
#include "base/random_id.hpp"

namespace fiber::backends::ssh {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds forward_limit(20000);
constexpr milliseconds first_retry(1000), max_retry(60000);
constexpr int max_unanswered = 5; // Pings; then the host is lost.

milliseconds ping_pause(milliseconds lease) {
  return std::clamp(lease / 6, milliseconds(100), milliseconds(2000));
}

/// Returns the settings of this driver that jobs need, as other backends pass them on.
std::map<std::string, std::string>
environment_of_jobs(const std::map<std::string, std::string>& given) {
  auto all = given;
  for (char** entry = ::environ; entry && *entry; ++entry) {
    const std::string_view variable = *entry;
    const auto equals = variable.find('=');
    if (variable.starts_with("FIBER_") && equals != variable.npos &&
        !variable.starts_with("FIBER_NODE=") && !sets_driver_only(variable))
      all.emplace(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return all;
}

} // namespace

Host::Host(Loop& loop, const SshOptions& options, const ProgramFile& program,
           HostEntry entry, std::string control, Handler handler)
  : loop_(loop), options_(options), program_(program), entry_(std::move(entry)),
    command_{.words = options.command, .control = std::move(control)},
    handler_(std::move(handler)) {}

Host::~Host() {
  close();
}

void Host::connect() {
  state_ = State::connecting;
  const auto number = random_id();
  greeting_ = std::string(agent_greeting) + number;
  try {
    channel_ = Channel::start(
      loop_, command_.open(entry_.name, start_command(program_.remote(), number)),
      {.output = [this](std::string_view bytes) { on_output(bytes); },
       .ended = [this](const std::string& errors,
                       std::optional<int> code) { on_end(errors, code); }});
    start_.emplace(loop_, command_, name(), program_, number,
                   ProgramStart::Handler{
                     .say = [this](std::string_view text) { channel_->send(text); },
                     .ready = [](const std::string&) {}, // Its agent says so.
                     .failed = [this](const std::string& why) { lose(why); }});
  } catch (const EngineError& error) {
    lose(error.what());
  }
}

void Host::close() {
  closed_ = true;
  drop_connection();
  stop(retry_);
}

void Host::drop_connection() {
  if (channel_)
    channel_->close();
  channel_.reset();
  std::error_code ignored;
  std::filesystem::remove(command_.control,
                          ignored); // Unless ssh was killed, it is gone.
  start_.reset();
  greeted_ = false;
  forward_.reset();
  stop(next_ping_);
  lines_ = {};
  reader_ = {};
  way_from_.clear();
  way_.clear();
  without_way_.clear();
  unread_ = 0;
  unanswered_ = 0;
}

void Host::stop(std::optional<Loop::Timer>& timer) {
  if (timer)
    loop_.cancel(*timer);
  timer.reset();
}

void Host::on_output(std::string_view bytes) {
  const auto connection = channel_; // A new one may be there after a loss.
  try {
    while (!greeted_) {
      const auto line = lines_.next(bytes);
      if (!line)
        return;
      greeted_ = *line == greeting_;
      if (!greeted_)
        start_->take(*line);
      if (channel_ != connection)
        return;
    }
    reader_.add(bytes);
    while (auto message = reader_.next()) {
      on_message(*message);
      if (channel_ != connection)
        return;
    }
  } catch (const std::exception& error) {
    lose(error.what());
  }
}

void Host::on_message(const AgentMessage& message) {
  unanswered_ = 0;
  const auto& kind = message.at("is").get_ref<const std::string&>();
  if (kind == "agent")
    return begin(message);
  if (kind == "event")
    return handler_.event(event_of(message));
  if (kind == "output") {
    const auto& text = message.at("text").get_ref<const std::string&>();
    unread_ += text.size();
    if (handler_.output(message.at("job").get<std::string>(), text))
      take_more();
  }
  if (kind == "reached") {
    const auto address = message.at("address").get<std::string>();
    const auto problem = message.at("problem").get<std::string>();
    if (problem.empty())
      return use_way(address, address);
    if (options_.tunnel == SshTunnel::never)
      return lose("it can't connect to the driver at " + address + " (" + problem +
                  "): set advertise_address, or ssh_tunnel=auto");
    open_tunnel(address, problem);
  }
}

void Host::begin(const AgentMessage& agent) {
  if (agent.at("build").get<std::string>() != program_.remote().build)
    return lose("the program there is of another build");
  const auto cpus = std::max<std::size_t>(agent.at("cpus").get<std::size_t>(), 1);
  slots_ = entry_.slots != 0 ? entry_.slots : cpus;
  max_slots_ = std::max(slots_, entry_.max_slots);
  gpus_ = agent.at("gpus").get<int>();
  start_.reset();
  channel_->send(packed({{"is", "begin"},
                         {"environment", environment_of_jobs(options_.environment)},
                         {"words", program_words()},
                         {"directory", std::filesystem::current_path().string()},
                         {"session", options_.session},
                         {"hide_gpus", options_.hide_gpus},
                         {"lease", options_.lease.count()}}));
  state_ = State::up;
  attempts_ = 0;
  logged_problem_.clear();
  log().info("ssh: {} has {} slots for jobs", name(), max_slots_);
  ping();
  handler_.up();
}

void Host::ping() {
  // Counted, not timed: this process may itself have been stopped.
  if (++unanswered_ > max_unanswered)
    return lose("its agent no longer answers");
  channel_->send(packed({{"is", "ping"}}));
  next_ping_ = loop_.after(ping_pause(options_.lease), [this] {
    next_ping_.reset();
    ping();
  });
}

void Host::create(JobSpec spec) {
  if (spec.driver != way_from_)
    find_way(spec.driver);
  if (way_.empty() && !spec.driver.empty())
    return without_way_.push_back(std::move(spec));
  spec.driver = way_;
  channel_->send(packed(message_of(spec)));
}

/// All jobs of a session dial one address.
void Host::find_way(const std::string& driver) {
  way_from_ = driver;
  way_.clear();
  if (options_.tunnel == SshTunnel::always)
    open_tunnel(driver, {});
  else
    channel_->send(packed({{"is", "reach"}, {"address", driver}}));
}

void Host::open_tunnel(const std::string& driver, const std::string& problem) {
  if (!problem.empty())
    log().info("ssh: {} can't connect to the driver at {} ({})", name(), driver, problem);
  forward_ = ChildProcess::start(
    loop_, command_of(command_.forward(name(), driver), forward_limit),
    [this, driver](const ChildResult& result) {
      const auto port = result.output.substr(0, result.output.find('\n'));
      if (!failure(result, forward_limit).empty() || port.empty())
        return lose("it can't connect to the driver at " + driver +
                    ", and its sshd opens no tunnel (AllowTcpForwarding): " +
                    command_.problem(name(), result.errors, result.exit_code));
      use_way(driver, "127.0.0.1:" + port);
    });
}

void Host::use_way(const std::string& driver, const std::string& address) {
  if (driver != way_from_)
    return;
  way_ = address;
  log().info("ssh: jobs on {} connect to the driver {}", name(),
             address == driver ? "at " + driver : "through a tunnel");
  for (auto& spec : std::exchange(without_way_, {}))
    create(std::move(spec));
}

void Host::terminate(const std::string& job, milliseconds grace) {
  auto waiting = std::ranges::find(without_way_, job, &JobSpec::name);
  if (waiting == without_way_.end())
    return channel_->send(
      packed({{"is", "terminate"}, {"job", job}, {"grace", grace.count()}}));
  without_way_.erase(waiting);
  handler_.event({.kind = JobEvent::Kind::failed,
                  .job = job,
                  .detail = "terminated before it started"});
}

void Host::take_more() {
  if (channel_ && unread_ > 0)
    channel_->send(packed({{"is", "read"}, {"bytes", std::exchange(unread_, 0)}}));
}

void Host::on_end(const std::string& errors, std::optional<int> exit_code) {
  auto problem = start_ ? start_->problem_of_end(errors, exit_code)
                        : command_.problem(name(), errors, exit_code);
  if (is_up())
    problem = "the connection or the agent there has ended: " + problem;
  lose(problem);
}

void Host::lose(const std::string& problem) {
  problem_ = problem;
  state_ = State::down;
  drop_connection();
  if (closed_)
    return;
  if (std::exchange(logged_problem_, problem) != problem)
    log().warn("ssh: {}: {}", name(), problem);
  retry_ = loop_.after(retry_pause(attempts_++, first_retry, max_retry), [this] {
    retry_.reset();
    connect();
  });
  handler_.down(problem);
}

} // namespace fiber::backends::ssh
