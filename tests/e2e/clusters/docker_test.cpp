// SPDX-License-Identifier: Apache-2.0
// Pools whose workers are containers keep their promises, whatever the engine does to
// them, or to the driver.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fiber/error.hpp>
#include <fiber/fiber.hpp>

#include "tests/e2e/clusters/docker_drive.hpp"
#include "tests/e2e/clusters/docker_pool.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

/// Each waits in its first run until the test says go.
std::size_t block_once(std::size_t i) {
  if (this_task::attempt() == 1)
    note_and_wait("holding");
  return f(i);
}

bool await_notes(const std::string& list, std::size_t n) {
  return wait_until([&] { return notes(list).size() >= n; });
}

TEST_F(DockerPool, a_map_runs_in_containers) {
  open(config());
  Pool pool(3);
  EXPECT_EQ(pool.map(f, indices(500)), undisturbed(500));
  EXPECT_TRUE(pool.wait_until_workers_up(deadline));
  EXPECT_EQ(engine().running().size(), 3u);
  EXPECT_EQ(pool.apply([] { return ::getuid(); }), 65532u);
}

TEST_F(DockerPool, a_worker_that_the_engine_kills_is_replaced) {
  open(config());
  Pool pool(3);
  auto results = pool.map_async(block_once, indices(30));
  ASSERT_TRUE(await_notes("holding", 3));
  auto before = await_containers(3);
  EXPECT_EQ(engine().order(before[0], "kill"), 204);
  ASSERT_TRUE(await_lost(pool, 1));
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(30));
  EXPECT_EQ(pool.stats().workers_lost, 1u);
  EXPECT_EQ(pool.stats().failed, 0u);
  expect_works(pool, 3);
}

TEST_F(DockerPool, all_workers_killed_at_once_are_replaced) {
  open(config());
  Pool pool(3);
  auto results = pool.map_async(block_once, indices(30));
  ASSERT_TRUE(await_notes("holding", 3));
  for (auto& id : await_containers(3))
    EXPECT_EQ(engine().order(id, "kill"), 204);
  ASSERT_TRUE(await_lost(pool, 3));
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(30));
  EXPECT_EQ(pool.stats().workers_lost, 3u);
  expect_works(pool, 3);
}

TEST_F(DockerPool, a_worker_paused_for_too_long_is_replaced_and_its_results_refused) {
  auto options = config();
  options.heartbeat_timeout = 1s;
  options.lease = 20s;
  open(options);
  Pool pool(2);
  auto results = pool.map_async(block_once, indices(20));
  ASSERT_TRUE(await_notes("holding", 2));
  auto paused = await_containers(2)[0];
  ASSERT_EQ(engine().order(paused, "pause"), 204);
  ASSERT_TRUE(await_lost(pool, 1));
  engine().order(paused, "unpause"); // Unless the pool has ended it already.
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(20));
  EXPECT_EQ(results.done(), 20u);
  EXPECT_EQ(pool.stats().done, 20u);
  EXPECT_EQ(pool.stats().workers_lost, 1u);
  EXPECT_TRUE(wait_until([&] { return engine().state(paused).empty(); }));
  expect_works(pool, 2);
}

/// What is enough for any job, also with sanitizers.
constexpr std::size_t enough_mb = 256;

/// Takes 600 MB if it is the 3rd.
std::size_t eat_3(std::size_t i) {
  std::vector<std::string> eaten;
  for (int mb = 0; i == 3 && mb < 600; ++mb)
    eaten.emplace_back(1 << 20, 'x');
  return f(i);
}

TEST_F(DockerPool, a_task_that_needs_too_much_memory_is_told_so_and_the_others_end) {
  open(config());
  Pool pool(
    PoolOptions{.workers = 2, .resources = {.memory_mb = enough_mb}, .max_retries = 1});
  auto results = pool.map_async(eat_3, indices(20));
  auto outcomes = results.outcomes();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (i != 3) {
      ASSERT_TRUE(outcomes[i].ok()) << i;
      EXPECT_EQ(outcomes[i].value(), f(i));
      continue;
    }
    try {
      outcomes[i].value();
      ADD_FAILURE() << "had enough memory";
    } catch (const WorkerLost& error) {
      const std::string reason = "OOMKilled, limit " + std::to_string(enough_mb) + " MiB";
      EXPECT_EQ(error.reason(), reason);
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos)
        << error.what();
      EXPECT_EQ(error.exits(), (std::vector<std::optional<int>>{-SIGKILL, -SIGKILL}));
    }
  }
  expect_works(pool, 2);
}

[[gnu::noinline]] int gives_up(int i) {
  if (i >= 0)
    std::abort();
  return i;
}

TEST_F(DockerPool, a_task_that_crashes_is_told_where) {
  open(config());
  Pool pool(PoolOptions{.workers = 1, .max_retries = 0});
  try {
    pool.apply(
      [](int i) {
        std::fprintf(stderr, "last words");
        return gives_up(i);
      },
      7);
    ADD_FAILURE() << "it went on";
  } catch (const WorkerLost& error) {
    EXPECT_EQ(error.reason(), "killed by SIGABRT");
    EXPECT_NE(error.stack().find("gives_up(int)"), std::string::npos) << error.what();
    EXPECT_EQ(error.last_log(), "last words");
  }
}

TEST_F(DockerPool, a_loss_names_the_connection_that_a_task_closed) {
  open(config());
  Pool pool(PoolOptions{.workers = 1, .max_retries = 0});
  try {
    pool.apply([] {
      ::close_range(3, ~0U, 0);
      return ::pause();
    });
    ADD_FAILURE() << "it went on";
  } catch (const WorkerLost& error) {
    // Either the driver has noticed it, or also the job, which then says so at its end.
    const auto& told = error.reason();
    EXPECT_TRUE(told.starts_with("killed by SIGKILL")) << told;
    EXPECT_NE(told.find("its connection to the driver "), told.npos) << told;
  }
}

TEST_F(DockerPool, a_job_sees_its_share_of_the_machine) {
  open(config());
  Pool pool(PoolOptions{.workers = 1, .resources = {.cpu = 0.5, .memory_mb = enough_mb}});
  EXPECT_EQ(pool.apply([] { return cpu_count(); }), 1u);
  auto limit = pool.apply([] {
    std::string text;
    for (auto* path :
         {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
      if (std::ifstream file(path); file >> text)
        break;
    return text;
  });
  EXPECT_EQ(limit, std::to_string(enough_mb << 20));
}

TEST_F(DockerPool, works_as_root_on_the_hosts_network_if_asked) {
  auto options = config();
  options.docker_network = "host";
  options.docker_user = "root";
  options.docker_allow = "writable_root,capabilities,new_privileges,processes";
  open(options);
  Pool pool(2);
  expect_works(pool, 2);
  EXPECT_EQ(pool.apply([] { return ::getuid(); }), 0u);
  EXPECT_EQ(engine().inspect(engine().running().at(0))["HostConfig"]["NetworkMode"],
            "host");
}

TEST_F(DockerPool, a_stall_of_the_engine_disturbs_nothing) {
  open(config());
  Pool pool(2);
  auto results = pool.map_async(block_once, indices(20));
  ASSERT_TRUE(await_notes("holding", 2));
  ASSERT_EQ(script("signal STOP"), 0);
  std::this_thread::sleep_for(3s); // The stall itself.
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(20)); // Work needs no engine.
  ASSERT_EQ(script("signal CONT"), 0);
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  expect_works(pool, 2);
}

TEST_F(DockerPool, an_engine_that_starts_anew_costs_its_workers_and_no_result) {
  open(config());
  Pool pool(2);
  auto results = pool.map_async(block_once, indices(20));
  ASSERT_TRUE(await_notes("holding", 2));
  auto before = await_containers(2);
  ASSERT_EQ(script("restart"), 0);
  // It has asked them to end, waited, and killed them.
  for (auto& id : before)
    EXPECT_TRUE(wait_until([&] { return engine().state(id).empty(); }));
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(20));
  EXPECT_EQ(pool.stats().failed, 0u);
  expect_works(pool, 2);
}

TEST_F(DockerPool, nothing_is_left_of_a_driver_that_was_killed) {
  auto in_tmp = fiber_names("/tmp"), in_shm = fiber_names("/dev/shm");
  auto driver = drive("hold", "/dev/null");
  ASSERT_TRUE(await_notes("holding", 3));
  EXPECT_EQ(await_containers(3).size(), 3u);
  kill(driver, SIGKILL);
  waitpid(driver, nullptr, 0);
  EXPECT_TRUE(wait_until([&] { return engine().containers().empty(); }));
  EXPECT_TRUE(wait_until([&] { return marked(mark()).empty(); }));
  EXPECT_EQ(fiber_names("/tmp"), in_tmp);
  EXPECT_EQ(fiber_names("/dev/shm"), in_shm);
}

TEST_F(DockerPool, what_tasks_print_bears_the_name_of_their_job) {
  auto output = folder() + "/output";
  auto driver = drive("talk", output);
  int status = 0;
  ASSERT_EQ(waitpid(driver, &status, 0), driver);
  EXPECT_EQ(status, 0);
  std::ifstream file(output);
  std::stringstream text;
  text << file.rdbuf();
  std::istringstream lines(text.str());
  std::size_t named = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("[") && line.find("] talking about ") != line.npos)
      ++named;
  EXPECT_EQ(named, 20u) << text.str();
}

std::size_t resident_mb(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::size_t pages = 0;
  file >> pages >> pages;
  return pages * 4096 >> 20;
}

TEST_F(DockerPool, a_flood_that_nobody_reads_waits_in_the_jobs) {
  auto path = folder() + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  auto driver = drive("flood", path);
  ASSERT_TRUE(await_notes("flooded", 2));
  // Until nothing moves any more.
  std::size_t seen = 0;
  auto since = std::chrono::steady_clock::now();
  EXPECT_TRUE(wait_until([&] {
    auto now = notes("flooded").size();
    if (std::exchange(seen, now) != now)
      since = std::chrono::steady_clock::now();
    return std::chrono::steady_clock::now() - since > 3s;
  }));
  EXPECT_LT(seen, flood_pieces * 2) << "nothing held them back";
  EXPECT_LT(resident_mb(driver), 300u);
  // Now somebody does.
  std::thread drain([&] {
    fcntl(reader.get(), F_SETFL, 0);
    char buffer[65536];
    while (::read(reader.get(), buffer, sizeof buffer) > 0) {
    }
  });
  int status = 0;
  EXPECT_TRUE(wait_until([&] { return waitpid(driver, &status, WNOHANG) == driver; }));
  kill(driver, SIGKILL);
  EXPECT_EQ(status, 0);
  drain.join();
}

class DockerDriver : public DockerPool,
                     public testing::WithParamInterface<const char*> {};

/// It finds its image and the engine by itself.
TEST_P(DockerDriver, in_a_container_starts_its_jobs_beside_it) {
  auto socket = host().substr(std::string("unix://").size());
  auto reply = engine().ask(
    "POST", "/containers/create",
    {{"Image", own_image},
     {"Cmd", {"drive", "map"}},
     {"Env", {"FIBER_BACKEND=docker", "FIBER_LOG_LEVEL=warn"}},
     {"User", "0"}, // Who may use the socket.
     {"HostConfig",
      {{"NetworkMode", GetParam()}, {"Binds", {socket + ":/var/run/docker.sock"}}}}});
  ASSERT_EQ(reply.status, 201) << reply.body;
  std::string id = nlohmann::json::parse(reply.body)["Id"];
  EXPECT_EQ(engine().order(id, "start"), 204);
  EXPECT_TRUE(wait_until([&] { return engine().state(id) == "exited"; }));
  auto logs = engine().ask("GET", "/containers/" + id + "/logs?stdout=1&stderr=1").body;
  auto state = engine().inspect(id)["State"];
  EXPECT_EQ(state["ExitCode"], 0) << state << logs;
  EXPECT_NE(logs.find("mapped in 2 jobs"), std::string::npos) << logs;
  engine().remove(id);
}

INSTANTIATE_TEST_SUITE_P(On, DockerDriver, testing::Values("host", "bridge"),
                         [](auto& network) { return std::string(network.param); });

#ifdef ES_TRAIN
std::string policy_of(const std::string& out) {
  std::ifstream file(out + "/policy.txt", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

pid_t train(const std::string& out) {
  auto pid = fork();
  if (pid == 0) {
    auto nothing = ::open("/dev/null", O_RDWR);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    execl(ES_TRAIN, "es_train", "--env", "cartpole", "--iterations", "40", "--directions",
          "24", "--episodes", "4", "--seed", "5", "--workers", "2", "--out", out.c_str(),
          nullptr);
    _exit(127);
  }
  return pid;
}

int wait_for(pid_t pid) {
  int status = -1;
  wait_until([&] { return waitpid(pid, &status, WNOHANG) == pid; }, 2 * deadline);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(DockerPool, training_in_containers_that_are_killed_gives_the_same_policy) {
  ASSERT_EQ(script("load localhost/fiber-test:es_train " ES_TRAIN), 0);
  auto local = folder() + "/local", docker = folder() + "/docker";
  auto code = wait_for(train(local)); // 1 if it ends unsolved.
  setenv("FIBER_BACKEND", "docker", 1);
  setenv("FIBER_DOCKER_HOST", host().c_str(), 1);
  setenv("FIBER_IMAGE", "localhost/fiber-test:es_train", 1);
  auto pid = train(docker);
  for (auto* name : {"FIBER_BACKEND", "FIBER_DOCKER_HOST", "FIBER_IMAGE"})
    unsetenv(name);
  // It begins when both are up.
  auto victims = await_containers(2);
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(docker + "/checkpoint"); }))
    << "no iteration is over";
  auto killed = engine().order(victims.at(0), "kill");
  EXPECT_EQ(killed, 204);
  EXPECT_EQ(wait_for(pid), code);
  EXPECT_FALSE(policy_of(local).empty());
  EXPECT_EQ(policy_of(docker), policy_of(local));
}
#endif

} // namespace
} // namespace fiber::e2e
