// SPDX-License-Identifier: Apache-2.0
// The promise: FIBER_METRICS tells Prometheus what stats() tells the program, while the
// driver is busy and while its pools end.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <map>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <curl/curl.h>
#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "base/unique_fd.hpp"
#include "fiber/detail/classic_locale.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/locale/comma_locale.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

/// Listens on a port that nobody else had, for as long as it lives.
class TakenPort {
public:
  TakenPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_.get(), generic, size) != 0 || ::listen(socket_.get(), 1) != 0 ||
        getsockname(socket_.get(), generic, &size) != 0)
      ADD_FAILURE() << std::strerror(errno);
    number = ntohs(address.sin_port);
  }

  std::uint16_t number = 0;

private:
  UniqueFd socket_;
};

std::string free_address() {
  return "127.0.0.1:" + std::to_string(TakenPort().number);
}

/// What stands at /metrics; empty if nobody answers.
std::string scrape(const std::string& address) {
  std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  std::string text;
  auto url = "http://" + address + "/metrics";
  auto append = +[](char* bytes, std::size_t size, std::size_t n, void* to) {
    static_cast<std::string*>(to)->append(bytes, size * n);
    return size * n;
  };
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  // Who is accepted as the session ends may never be told.
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, 5L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &text);
  return curl_easy_perform(curl.get()) == CURLE_OK ? text : "";
}

/// Of each line that is no comment: what stands before the value, and the value.
std::map<std::string, double> values(const std::string& text) {
  std::map<std::string, double> found;
  fiber::detail::Classic<std::istringstream> lines(text);
  for (std::string line; std::getline(lines, line);)
    if (auto space = line.rfind(' '); !line.starts_with('#') && space != line.npos)
      std::from_chars(line.data() + space + 1, line.data() + line.size(),
                      found[line.substr(0, space)]);
  return found;
}

class Measured : public SessionTest {
protected:
  void open_measured(Config config = {}) {
    config.metrics = address;
    open(config);
  }
  std::string address = free_address();
};

std::size_t fails_at_five(std::size_t i) {
  if (i == 5)
    throw std::runtime_error("five");
  return f(i);
}

TEST_F(Measured, values_are_those_of_stats) {
  open_measured();
  Pool pool(2);
  Pool other(1);
  pool.map(f, indices(300));
  EXPECT_THROW(pool.map(fails_at_five, indices(10)), RemoteError);
  ASSERT_TRUE(pool.wait_until_workers_up(deadline));
  ASSERT_TRUE(wait_until([&] { return pool.stats().running == 0; }));
  auto stats = pool.stats();
  auto text = scrape(address);
  auto found = values(text);
  auto value = [&](const std::string& name) {
    return found.count(name) > 0 ? found[name] : -1;
  };
  EXPECT_EQ(value("fiber_pool_workers{pool=\"pool1\"}"), 2);
  EXPECT_EQ(value("fiber_pool_workers{pool=\"pool2\"}"), 0);
  EXPECT_EQ(value("fiber_pool_queued_tasks{pool=\"pool1\"}"), 0);
  EXPECT_EQ(value("fiber_pool_running_tasks{pool=\"pool1\"}"), 0);
  EXPECT_EQ(value("fiber_pool_prefetched_tasks{pool=\"pool1\"}"), 0);
  EXPECT_EQ(value("fiber_pool_tasks_total{pool=\"pool1\",outcome=\"done\"}"), 309);
  EXPECT_EQ(value("fiber_pool_tasks_total{pool=\"pool1\",outcome=\"failed\"}"), 1);
  EXPECT_EQ(value("fiber_pool_retries_total{pool=\"pool1\"}"), 0);
  EXPECT_EQ(value("fiber_pool_speculated_total{pool=\"pool1\"}"), 0);
  EXPECT_EQ(value("fiber_pool_workers_lost_total{pool=\"pool1\"}"), 0);
  EXPECT_EQ(value("fiber_pool_late_results_total{pool=\"pool1\"}"), 0);
  EXPECT_EQ(value("fiber_pool_bytes_total{pool=\"pool1\",direction=\"sent\"}"),
            static_cast<double>(stats.bytes_sent));
  EXPECT_EQ(value("fiber_pool_bytes_total{pool=\"pool1\",direction=\"received\"}"),
            static_cast<double>(stats.bytes_received));
  EXPECT_EQ(value("fiber_pool_task_seconds_count{pool=\"pool1\"}"), 310);
  EXPECT_EQ(value("fiber_pool_task_seconds_bucket{pool=\"pool1\",le=\"+Inf\"}"), 310);
  EXPECT_GT(value("fiber_pool_task_seconds_sum{pool=\"pool1\"}"), 0);
  EXPECT_NE(text.find("fiber_build_info{version=\""), text.npos);
  EXPECT_NE(text.find("# HELP fiber_pool_tasks_total "), text.npos);
  EXPECT_NE(text.find("# TYPE fiber_pool_task_seconds histogram"), text.npos);
}

TEST_F(Measured, numbers_have_a_point_and_no_groups_in_each_locale) {
  const test::CommaLocale locale;
  open_measured();
  Pool pool(1);
  pool.map(f, indices(1500));
  const auto text = scrape(address);
  const auto found = values(text);
  EXPECT_EQ(found.at("fiber_pool_tasks_total{pool=\"pool1\",outcome=\"done\"}"), 1500);
  EXPECT_NE(text.find("le=\"4.09"), text.npos) << text;
  EXPECT_GT(found.at("fiber_pool_task_seconds_sum{pool=\"pool1\"}"), 0);
}

std::size_t waits(std::size_t i) {
  note("begun", std::to_string(i));
  await_note("go");
  return f(i);
}

TEST_F(Measured, a_busy_pool_answers) {
  open_measured();
  Pool pool(2);
  auto results = pool.map_async(waits, indices(5), {.chunksize = 1});
  await_note("begun");
  ASSERT_TRUE(wait_until([&] { return notes("begun").size() == 2; }));
  auto found = values(scrape(address));
  EXPECT_EQ(found["fiber_pool_running_tasks{pool=\"pool1\"}"], 2);
  EXPECT_EQ(found["fiber_pool_prefetched_tasks{pool=\"pool1\"}"] +
              found["fiber_pool_queued_tasks{pool=\"pool1\"}"],
            3);
  EXPECT_EQ(found["fiber_pool_tasks_total{pool=\"pool1\",outcome=\"done\"}"], 0);
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(5));
}

class Tally {
public:
  int add(int n) { return sum_ += n; }

private:
  int sum_ = 0;
};

int take(Queue<int> queue, int) {
  return queue.get();
}

TEST_F(Measured, queues_supervisors_managers_and_jobs_are_there_too) {
  open_measured();
  Queue<int> queue(10);
  queue.put(1);
  queue.put(2);
  Pool pool(1);
  pool.map(bind(take, queue), std::vector<int>{0});
  Supervisor supervisor;
  auto kept = supervisor.spawn<Tally>(SpawnOptions{.name = "a \"tally\""});
  Manager manager({.name = "shelf"});
  auto tally = manager.create<Tally>();
  auto list = manager.list<int>();
  tally.call<&Tally::add>(1);
  std::map<std::string, double> found;
  auto is = [&](const std::string& name, double value) {
    return found.count(name) > 0 && found[name] == value;
  };
  auto children = [&] {
    return std::ranges::find_if(found, [](auto& each) {
      return each.first.starts_with("fiber_supervisor_children");
    });
  };
  auto up = [&] {
    found = values(scrape(address));
    return is("fiber_jobs{kind=\"objects\",state=\"up\"}", 2) &&
           is("fiber_silent_parts", 0) && children() != found.end() &&
           is("fiber_job_up{job_name=\"pool1.w0\"}", 1);
  };
  ASSERT_TRUE(wait_until(up));
  std::string queue1 = "{queue=\"queue#1\",kind=\"queue\"}";
  auto& name = children()->first;
  auto owner = name.substr(name.find('"') + 1);
  auto child =
    "{supervisor=\"" + owner.substr(0, owner.find('"')) + "\",child=\"a \\\"tally\\\"\"}";
  for (auto& [metric, value] : std::map<std::string, double>{
         {"fiber_queue_items" + queue1, 1},
         {"fiber_queue_capacity_items" + queue1, 10},
         {"fiber_queue_put_items_total" + queue1, 2},
         {"fiber_queue_producers" + queue1, 1},
         {"fiber_queue_consumers" + queue1, 1},
         {"fiber_queue_waiting_puts" + queue1, 0},
         {"fiber_queue_waiting_gets" + queue1, 0},
         {name, 1},
         {"fiber_child_up" + child, 1},
         {"fiber_child_restarts_total" + child, 0},
         {"fiber_manager_up{manager=\"shelf\"}", 1},
         {"fiber_manager_objects{manager=\"shelf\"}", 2},
         {"fiber_manager_calls_total{manager=\"shelf\"}", 1},
         {"fiber_manager_restarts_total{manager=\"shelf\"}", 0},
         {"fiber_job_restarts_total{job_name=\"pool1.w0\"}", 0},
         {"fiber_jobs_lost_total", 0},
         {"fiber_failures_total", 0}})
    EXPECT_TRUE(is(metric, value)) << metric << " is not " << value;
  EXPECT_GE(found["fiber_job_memory_bytes{job_name=\"pool1.w0\"}"], 1 << 20);
  EXPECT_TRUE(found.contains("fiber_job_processor_seconds_total{job_name=\"pool1.w0\"}"));
  EXPECT_TRUE(found.contains("fiber_job_silent_seconds{job_name=\"pool1.w0\"}"));
}

/// Members go on until `over` is set.
void turn(Event over, RingMember& member) {
  for (std::vector<int> stop(1); stop[0] == 0; member.broadcast(stop, 0))
    if (member.rank() == 0)
      stop[0] = over.wait(10ms) ? 1 : 0;
}

TEST_F(Measured, a_ring_is_there_while_it_runs) {
  open_measured();
  Event over;
  std::thread run([&] { Ring(2, bind(turn, over)).run(); });
  auto line = [&](const std::string& name) {
    auto found = values(scrape(address));
    auto at = std::ranges::find_if(
      found, [&](auto& each) { return each.first.starts_with(name + "{ring="); });
    return at == found.end() ? -1 : at->second;
  };
  EXPECT_TRUE(wait_until([&] { return line("fiber_ring_members_up") == 2; }));
  EXPECT_TRUE(wait_until([&] { return line("fiber_ring_collectives_total") > 0; }));
  EXPECT_EQ(line("fiber_ring_members"), 2);
  EXPECT_EQ(line("fiber_ring_restarts_total"), 0);
  over.set();
  run.join();
  EXPECT_TRUE(wait_until([&] { return line("fiber_ring_members") == -1; }));
}

// Whoever asks at that moment gets an answer, or none; nobody waits for ever.
TEST_F(Measured, pools_and_sessions_may_end_while_somebody_asks) {
  std::atomic<bool> over{false};
  std::atomic<std::size_t> answers{0};
  std::vector<std::thread> askers;
  for (auto i = 0; i < 3; ++i)
    askers.emplace_back([&] {
      while (!over)
        answers += scrape(address).empty() ? 0 : 1;
    });
  for (auto i = 0; i < 3; ++i) {
    open_measured();
    for (auto j = 0; j < 5; ++j)
      EXPECT_EQ(Pool(1).map(f, indices(50)), undisturbed(50));
    auto before = answers.load();
    EXPECT_TRUE(wait_until([&] { return answers > before; }));
    close();
  }
  over = true;
  for (auto& asker : askers)
    asker.join();
}

TEST_F(Measured, an_inline_session_answers_too) {
  open_measured({.backend = "inline"});
  Pool pool(1);
  EXPECT_EQ(pool.map(f, indices(10)), undisturbed(10));
  EXPECT_EQ(
    values(scrape(address))["fiber_pool_tasks_total{pool=\"pool1\",outcome=\"done\"}"],
    10);
}

TEST_F(Measured, a_pool_that_has_ended_is_not_shown) {
  open_measured();
  EXPECT_EQ(Pool(1).apply(f, 1), 8u);
  EXPECT_TRUE(wait_until(
    [&] { return scrape(address).find("pool=\"pool1\"") == std::string::npos; }));
}

TEST_F(Measured, nobody_listens_unless_asked_to) {
  open();
  Pool pool(1);
  EXPECT_EQ(pool.apply(f, 1), 8u);
  EXPECT_EQ(scrape(address), "");
}

TEST_F(Measured, an_address_that_cannot_be_had_is_refused) {
  TakenPort taken;
  auto port = std::to_string(taken.number);
  for (auto& [bad, why] : std::map<std::string, std::string>{
         {"127.0.0.1:" + port, "Address already in use"},
         {"192.0.2.1:" + port, "Cannot assign requested address"},
         {"127.0.0.1", "can't be used"},
         {"127.0.0.1:", "can't be used"},
         {"127.0.0.1:70000", "can't be used"},
         {":9464", "can't be used"},
         {"no host:1", ""}}) {
    try {
      open({.metrics = bad});
      ADD_FAILURE() << bad << " was accepted";
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.key(), "metrics") << bad;
      EXPECT_EQ(error.place(), "fiber::Config") << bad;
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }
}

} // namespace
} // namespace fiber::e2e
