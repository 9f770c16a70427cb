// SPDX-License-Identifier: Apache-2.0
#include "fiber/session.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <boost/system/system_error.hpp>

#include "actors/job/node_main.hpp"
#include "backends/backend.hpp"
#include "backends/job_entry.hpp"
#include "backends/resource_variables.hpp"
#include "base/forked_child.hpp"
#include "base/harmless_signal.hpp"
#include "base/thread_stacks.hpp"
#include "base/unique_fd.hpp"
#include "libfiber/observer/relay.hpp"
#include "libfiber/session/cpu_quota.hpp"
#include "libfiber/session/first_process.hpp"
#include "libfiber/session/runtime.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber {
namespace {

/// Opens the session. Translates every failure except lack of memory into an Error.
std::shared_ptr<detail::Runtime> open_runtime(Settings settings) {
  constexpr auto what = "start the session";
  try {
    return detail::Runtime::open(std::move(settings));
  } catch (const Error&) {
    throw;
  } catch (const backends::SettingError& error) {
    throw ConfigError(error.key, error.place, error.valid, error.problem);
  } catch (const backends::EngineError& error) {
    throw BackendError(error.operation(), error.status(), error.detail());
  } catch (const std::system_error& error) {
    throw BackendError(what, error.code().value(), error.what());
  } catch (const boost::system::system_error& error) {
    throw BackendError(what, error.code().value(), error.what());
  } catch (const std::runtime_error& error) { // wire::WireError, for example.
    throw BackendError(what, 0, error.what());
  }
}

} // namespace

Session::Session(std::shared_ptr<detail::Runtime> runtime)
  : runtime_(std::move(runtime)) {}
Session::Session(Session&&) noexcept = default;

Session& Session::operator=(Session&& other) noexcept {
  if (this != &other) {
    if (runtime_)
      runtime_->close();
    runtime_ = std::move(other.runtime_);
  }
  return *this;
}

Session::~Session() {
  if (!runtime_)
    return;
  if (is_forked_child()) // It has none of the threads that would have to end.
    new std::shared_ptr(std::move(runtime_)); // NOLINT(cppcoreguidelines-owning-memory)
  else
    runtime_->close();
}

Session init(int&, char**&, Config overrides) {
  open_standard_descriptors();
  enlarge_thread_stacks();
  make_harmless(SIGXFSZ); // A write beyond `ulimit -f` is an error that says so.
  observer::relay_if_asked();
  if (auto job = backends::enter_job()) {
    detail::Runtime::nest([overrides = std::move(overrides)](const auto& edit) {
      auto settings = resolve(overrides);
      edit(settings);
      return open_runtime(std::move(settings));
    });
    actors::run_node(std::move(*job), detail::Runtime::close_nested);
  }
  detail::obey_signals_as_first_process();
  return Session(open_runtime(resolve(overrides)));
}

std::size_t cpu_count() {
  auto cores = usable_cores();
  if (const char* share = std::getenv(backends::cpus_variable)) {
    std::size_t cpus = 0;
    std::from_chars(share, share + std::strlen(share), cpus);
    if (cpus > 0)
      return std::min(cores, cpus);
  }
  return cores;
}

} // namespace fiber
