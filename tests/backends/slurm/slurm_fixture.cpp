// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/slurm/slurm_fixture.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>

namespace fiber::backends {

SlurmOptions slurm_options() {
  SlurmOptions options;
  options.directory = clusters::slurm()->at("SLURM_SESSIONS");
  options.forward_output = false;
  return options;
}

BackendTraits slurm_traits() {
  return {.name = "slurm",
          .make = [] { return make_slurm(slurm_options()); },
          .missing = [] { return clusters::slurm() ? "" : "no Slurm is up"; },
          .links = false,
          .pages = false};
}

void SlurmTest::SetUp() {
  if (!clusters::slurm())
    GTEST_SKIP() << "SKIPPED: no Slurm is up";
}

void SlurmTest::TearDown() {
  if (!clusters::slurm())
    return;
  EXPECT_TRUE(eventually([] { return jobs().empty(); })) << jobs().front() << " is left";
  EXPECT_TRUE(eventually([] { return folders().empty(); })) << folders().front();
  clusters::ask_slurm("scancel --user=" + std::to_string(::getuid()));
}

std::vector<std::string> SlurmTest::jobs() {
  std::istringstream lines(
    clusters::ask_slurm("squeue --noheader --array --format='%F_%K %T'"));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);)
    all.push_back(line);
  return all;
}

std::string SlurmTest::only_running() {
  std::string id;
  EXPECT_TRUE(eventually([&] {
    auto all = jobs();
    if (all.size() != 1 || !all[0].ends_with(" RUNNING"))
      return false;
    id = all[0].substr(0, all[0].find(' '));
    return true;
  }));
  return id;
}

std::vector<std::string> SlurmTest::folders() {
  std::vector<std::string> all;
  std::error_code error;
  for (auto& entry :
       std::filesystem::directory_iterator(slurm_options().directory, error))
    all.push_back(entry.path().string());
  return all;
}

int SlurmTest::script(const std::string& command) {
  return std::system((clusters::slurm()->at("SLURM_SCRIPTS") + "/" + command).c_str());
}

JobEvent SlurmTest::failure_of(const SlurmOptions& options, JobSpec spec) {
  BackendTest test(make_slurm(options));
  auto job = test.backend->create(std::move(spec));
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.kind, JobEvent::Kind::failed) << last.detail;
  EXPECT_EQ(test.events.of(job.id).size(), 1u);
  return last;
}

int drive(const std::string& partition) {
  // Whoever starts a driver may leave descriptors open; the next ones have two digits.
  while (::open("/dev/null", O_RDONLY) < 10) {
  }
  auto options = slurm_options();
  options.partition = partition;
  auto backend = make_slurm(options);
  backend->watch([](const JobEvent& event) {
    if (event.kind == JobEvent::Kind::started)
      std::cout << "started " << event.job << std::endl;
  });
  for (auto* name : {"one", "two", "three"})
    backend->create(BackendTest::spec(name, "wait"));
  for (;;)
    ::pause();
}

} // namespace fiber::backends
