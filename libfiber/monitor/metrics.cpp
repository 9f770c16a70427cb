// SPDX-License-Identifier: Apache-2.0
#include "libfiber/monitor/metrics.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
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
#include "libfiber/monitor/stats_source.hpp"

namespace fiber::detail {
namespace {

/// Deadline for the answers of all pools. Prometheus waits for 10 s by default.
constexpr std::chrono::seconds answer_within{2};
/// Histogram buckets: powers of two in ns, from 4 us (2^12) to 275 s (2^38).
constexpr std::size_t first_octave = 12, last_octave = 38;

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

class Families {
public:
  void gauge(const char* name, const char* help, Labels labels, double value) {
    add(name, help, MetricType::Gauge, std::move(labels)).gauge.value = value;
  }
  void counter(const char* name, const char* help, Labels labels, double value) {
    add(name, help, MetricType::Counter, std::move(labels)).counter.value = value;
  }
  void pool(const std::string& name, const actors::PoolReport& report);
  std::vector<MetricFamily> take() { return std::move(all_); }

private:
  /// Adds a metric to the family of that name.
  ClientMetric& add(const char* name, const char* help, MetricType type, Labels labels) {
    auto family = std::find_if(all_.begin(), all_.end(),
                               [&](auto& known) { return known.name == name; });
    if (family == all_.end())
      family = all_.insert(all_.end(), MetricFamily{name, help, type, {}});
    auto& metric = family->metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }

  std::vector<MetricFamily> all_;
};

void Families::pool(const std::string& name, const actors::PoolReport& report) {
  auto& stats = report.stats;
  auto number = [](auto n) { return static_cast<double>(n); };
  Labels pool{{"pool", name}};
  auto with = [&](const char* label, const char* value) {
    return Labels{{"pool", name}, {label, value}};
  };
  gauge("fiber_pool_workers", "Workers that are up and take tasks.", pool,
        number(stats.workers));
  gauge("fiber_pool_queued_tasks", "Tasks that wait in the driver.", pool,
        number(stats.queued));
  gauge("fiber_pool_running_tasks", "Tasks handed to workers, started or not.", pool,
        number(stats.running));
  constexpr auto tasks = "Tasks that have ended: done with a value, failed otherwise.";
  counter("fiber_pool_tasks_total", tasks, with("outcome", "done"), number(stats.done));
  counter("fiber_pool_tasks_total", tasks, with("outcome", "failed"),
          number(stats.failed));
  counter("fiber_pool_retries_total",
          "Tasks that ran and were to run again, after a loss or an exception.", pool,
          number(stats.retries));
  counter("fiber_pool_speculated_total", "Second copies of slow tasks.", pool,
          number(stats.speculated));
  counter("fiber_pool_workers_lost_total", "Jobs of workers that ended unasked.", pool,
          number(stats.workers_lost));
  counter("fiber_pool_late_results_total",
          "Results refused, since their worker had been declared dead or another copy "
          "of the task had ended it.",
          pool, number(stats.late));
  constexpr auto bytes = "Bytes of tasks and shared values sent to workers, and of "
                         "results received from them.";
  counter("fiber_pool_bytes_total", bytes, with("direction", "sent"),
          number(stats.bytes_sent));
  counter("fiber_pool_bytes_total", bytes, with("direction", "received"),
          number(stats.bytes_received));
  auto& times = add("fiber_pool_task_seconds", "Time that a task ran in its worker.",
                    MetricType::Histogram, pool)
                  .histogram;
  times.sample_count = report.durations.total();
  times.sample_sum = number(report.durations.sum_ns()) / 1e9;
  for (auto octave = first_octave; octave <= last_octave; ++octave)
    times.bucket.push_back(
      {report.durations.below(octave), number(std::uint64_t{1} << octave) / 1e9});
  times.bucket.push_back({times.sample_count, std::numeric_limits<double>::infinity()});
}

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

/// Collects the reports of all pools. Several scrapes may run at a time.
class Metrics::Collector final : public prometheus::Collectable {
public:
  void add(const std::shared_ptr<StatsSource>& pool) {
    std::lock_guard lock(mutex_);
    std::erase_if(pools_, [](auto& known) { return known->core.expired(); });
    pools_.push_back(std::make_shared<Pool>(Pool{pool, pool->name(), {}}));
  }

  std::vector<MetricFamily> Collect() const override {
    auto limit = Results::Clock::now() + answer_within;
    Families families;
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

  mutable std::mutex mutex_; ///< Never held while waiting for a pool.
  std::vector<std::shared_ptr<Pool>> pools_;
};

struct Metrics::Server {
  explicit Server(const std::string& address) : exposer(address) {}
  prometheus::Exposer exposer;
};

Metrics::Metrics(const std::string& host, std::uint16_t port)
  : collector_(std::make_shared<Collector>()) {
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
