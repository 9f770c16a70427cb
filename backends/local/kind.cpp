// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "backends/local/local_backend.hpp"
#include "backends/local/zygote.hpp"
#include "backends/registry.hpp"

namespace fiber::backends {
namespace {

/// Returns the number from 1 to 64 that a text is.
std::optional<std::size_t> number(const std::string& text) {
  constexpr std::size_t most = 64;
  std::size_t value = 0;
  auto* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  auto valid = error == std::errc() && rest == end && value >= 1 && value <= most;
  return valid ? std::optional(value) : std::nullopt;
}

std::unique_ptr<Backend> make_local_backend(const BackendOptions& options) {
  LocalOptions local;
  local.plain_spawn = options.value("zygote") == "never";
  local.hide_gpus = options.hide_gpus;
  if (auto jobs = number(options.value("jobs_per_gpu")))
    local.jobs_per_gpu = *jobs;
  local.forward_output = options.forward_output;
  local.terminal = options.terminal;
  local.session = options.session;
  return make_local(local);
}

std::optional<JobEntry> enter_local_job(const std::string& role,
                                        const std::string& rest) {
  if (role != "zygote" && role != "job")
    return {};
  int fd = -1;
  auto* end = rest.data() + rest.size();
  auto parsed = std::from_chars(rest.data(), end, fd);
  if (parsed.ec != std::errc() || parsed.ptr != end || fd <= 2)
    return {};
  return role == "zygote" ? local::enter_zygote(fd) : local::enter_plain(fd);
}

} // namespace

BackendKind local_kind() {
  return {
    .name = "local",
    .keys = {{"zygote", "auto, never",
              [](const std::string& text) { return text == "auto" || text == "never"; }},
             {"jobs_per_gpu", "a whole number from 1 to 64",
              [](const std::string& text) { return number(text).has_value(); }}},
    .detect = [] { return std::string(); }, // The session's fallback.
    .make = make_local_backend,
    .enter = enter_local_job};
}

} // namespace fiber::backends
