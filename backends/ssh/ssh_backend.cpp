// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_backend.hpp"

#include <future>
#include <utility>

#include "backends/engine/child_process.hpp"
#include "backends/engine/route.hpp"
#include "backends/engine/spawn.hpp"
#include "backends/output/backend_with_output.hpp"
#include "backends/ssh/program_file.hpp"
#include "backends/ssh/ssh_jobs.hpp"
#include "base/log.hpp"

namespace fiber::backends {

namespace ssh {

namespace {

using std::chrono::milliseconds;

// Then the destructor ends the connections, and with them the jobs.
constexpr milliseconds end_patience(10000);
constexpr milliseconds lookup_limit(10000);
constexpr auto loopback = "127.0.0.1";

/// Returns this machine's address on the way to a host, as `ssh` would connect to it.
std::string address_towards_host(const SshOptions& options, const HostEntry& host) {
  auto words = options.command;
  words.insert(words.end(), {"-G", "--", host.name});
  const auto answer = run_child(command_of(std::move(words), lookup_limit));
  return address_towards(host_name_in(answer.output));
}

/// Returns the address at which jobs reach this process: the one on the way to the first
/// host that is not this machine.
std::string find_address(const SshOptions& options) {
  if (options.tunnel == SshTunnel::always)
    return loopback;
  for (auto& host : options.hosts)
    if (auto address = address_towards_host(options, host);
        !address.empty() && !address.starts_with("127.") && address != "::1")
      return address;
  return loopback;
}

class SshBackend final : public BackendWithOutput {
public:
  explicit SshBackend(const SshOptions& options);
  ~SshBackend() override;

  std::string name() const override { return "ssh"; }
  std::string driver_address() const override { return address_; }
  bool has_tunnels() const override { return options_.tunnel != SshTunnel::never; }
  std::size_t min_start_window() const override { return 1024; }
  Job create(JobSpec spec) override;
  void terminate(const JobId& job, milliseconds grace) override;

private:
  const SshOptions options_;
  const ProgramFile program_;
  const std::string address_;
  Loop loop_;
  SshJobs jobs_; // Used on the loop's thread only.
};

SshBackend::SshBackend(const SshOptions& options)
  : BackendWithOutput(descriptors_per_job, options.forward_output, options.terminal),
    options_(options), program_(options.directory), address_(find_address(options)),
    jobs_(loop_, output_, options_, program_,
          {.event = [this](const JobEvent& event) { report(event); },
           .closed = [this](std::uint64_t serial) { table_.close(serial); }}) {
  loop_.post([this] { jobs_.connect(); });
}

SshBackend::~SshBackend() {
  loop_.post([this] { jobs_.end_all(); });
  if (auto left = table_.wait_for_none(end_patience))
    log().warn("ssh: {} jobs have not ended; they end with the connection, or after the "
               "lease",
               left);
  std::promise<void> closed;
  loop_.post([this, &closed] {
    jobs_.close();
    closed.set_value();
  });
  closed.get_future().wait();
  loop_.stop();
  output_.stop();
}

Job SshBackend::create(JobSpec spec) {
  auto id = spec.name;
  auto serial = table_.admit(id);
  output_.add(serial, id);
  loop_.post([this, serial, spec = std::move(spec)]() mutable {
    jobs_.create(serial, std::move(spec));
  });
  return {.id = id, .link = {}, .page = nullptr};
}

void SshBackend::terminate(const JobId& id, milliseconds grace) {
  loop_.post([this, id, grace] { jobs_.terminate(id, grace); });
}

} // namespace

} // namespace ssh

void check_ssh_command(const SshOptions& options) {
  if (const auto& ssh = options.command.front();
      ssh.find('/') == ssh.npos && find_in_path(ssh).empty())
    throw EngineError("find " + ssh, 0,
                      "it is not on PATH: install it (Debian: openssh-client), or set "
                      "ssh_command");
}

std::unique_ptr<Backend> make_ssh(const SshOptions& options) {
  check_ssh_command(options);
  return std::make_unique<ssh::SshBackend>(options);
}

} // namespace fiber::backends
