// SPDX-License-Identifier: Apache-2.0
#include "libfiber/monitor/metrics.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <netdb.h>
#include <sys/socket.h>

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>

#include "base/code_place.hpp"
#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "libfiber/monitor/metric_families.hpp"
#include "libfiber/monitor/stats_source.hpp"
#include "libfiber/observer/session_view.hpp"

namespace fiber::detail {
namespace {

using prometheus::MetricFamily;

/// Deadline for the answers of all pools. Prometheus waits for 10 s by default.
constexpr std::chrono::seconds answer_within{2};
/// The deadline of all other parts if the pools have used that up.
constexpr std::chrono::milliseconds part_patience{100};

/// Resolves `host` to the numeric address that the server takes. Binds it on trial,
/// because the server would not say why it cannot.
std::string address_of(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (auto error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
      error != 0)
    throw std::runtime_error(gai_strerror(error));
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(list, freeaddrinfo);
  UniqueFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto one = 1;
  if (!socket ||
      setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
      ::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(socket.get(), 1) != 0)
    throw std::runtime_error(std::generic_category().message(errno));
  char numbers[NI_MAXHOST];
  if (auto error = getnameinfo(found->ai_addr, found->ai_addrlen, numbers, sizeof numbers,
                               nullptr, 0, NI_NUMERICHOST);
      error != 0)
    throw std::runtime_error(gai_strerror(error));
  auto text = std::string(numbers);
  return (found->ai_family == AF_INET6 ? "[" + text + "]" : text) + ":" +
         std::to_string(port);
}

} // namespace

/// Collects the reports of all pools, and what the session shows besides. Several scrapes
/// may run at a time.
class Metrics::Collector final : public prometheus::Collectable {
public:
  explicit Collector(observer::SessionView& view) : view_(view) {}

  void add(const std::shared_ptr<StatsSource>& pool) {
    std::lock_guard lock(mutex_);
    std::erase_if(pools_, [](auto& known) { return known->core.expired(); });
    pools_.push_back(std::make_shared<Pool>(Pool{pool, pool->name(), {}}));
  }

  std::vector<MetricFamily> Collect() const override {
    auto limit = Results::Clock::now() + answer_within;
    MetricFamilies families;
    families.gauge("fiber_build_info", "The program that is the driver.",
                   {{"version", FIBER_VERSION}, {"build", build_id()}}, 1);
    // Asks all pools first: a busy one must not use up the deadline of the others.
    std::vector<Asked> asked;
    for (auto& pool : pools())
      if (auto core = pool->core.lock()) {
        auto reply = core->ask_report();
        asked.push_back({pool, std::move(core), std::move(reply)});
      }
    for (auto& [pool, core, reply] : asked) {
      auto report = reply ? core->report(*reply, limit) : std::nullopt;
      std::lock_guard lock(mutex_);
      if (report)
        pool->last = *report;
      families.pool(pool->name, pool->last);
    }
    auto left = limit - Results::Clock::now();
    families.session(view_.snapshot_without_pools(std::max(
      part_patience, std::chrono::duration_cast<std::chrono::milliseconds>(left))));
    return families.take();
  }

private:
  struct Pool {
    std::weak_ptr<StatsSource> core;
    std::string name;
    actors::PoolReport last; ///< Guarded by mutex_.
  };
  struct Asked {
    std::shared_ptr<Pool> pool;
    std::shared_ptr<StatsSource> core;
    std::shared_ptr<actors::ReportReply> reply; ///< Null: the session has ended.
  };

  std::vector<std::shared_ptr<Pool>> pools() const {
    std::lock_guard lock(mutex_);
    return pools_;
  }

  observer::SessionView& view_;
  mutable std::mutex mutex_; ///< Never held while waiting for a pool.
  std::vector<std::shared_ptr<Pool>> pools_;
};

struct Metrics::Server {
  explicit Server(const std::string& address) : exposer(address) {}
  prometheus::Exposer exposer;
};

Metrics::Metrics(const std::string& host, std::uint16_t port, observer::SessionView& view)
  : collector_(std::make_shared<Collector>(view)) {
  auto address = address_of(host, port);
  server_ = std::make_unique<Server>(address);
  server_->exposer.RegisterCollectable(collector_);
  log().info("metrics at http://{}/metrics", address);
}

Metrics::~Metrics() = default;

void Metrics::add(const std::shared_ptr<StatsSource>& pool) {
  collector_->add(pool);
}

} // namespace fiber::detail
