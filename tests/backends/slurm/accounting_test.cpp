// SPDX-License-Identifier: Apache-2.0
// The promise: a job that ended while no listing could be made, and that Slurm's
// controller has forgotten since, ends with what a real slurmdbd recorded.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/backends/slurm/slurm_fixture.hpp"
#include "tests/clusters/slurm_accounting.hpp"

namespace fiber::backends {
namespace {

/// A squeue that finds no controller while a file is there.
class Squeue {
public:
  explicit Squeue(clusters::SlurmAccounting& cluster) {
    auto real = clusters::ask_slurm("sh -c 'command -v squeue'");
    std::string name = "/tmp/fiber-squeue-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
      throw std::runtime_error("can't make a folder in /tmp");
    folder_ = name;
    std::ofstream(folder_ / "squeue")
      << "#!/bin/sh\nif [ -e " << away().string()
      << " ]; then echo 'Unable to contact slurm controller' >&2; exit 1; fi\nexec "
      << real.substr(0, real.find('\n')) << " \"$@\"\n";
    std::filesystem::permissions(folder_ / "squeue", std::filesystem::perms::owner_all);
    cluster.set("PATH", folder_.string() + ":" + std::getenv("PATH"));
  }
  ~Squeue() { std::filesystem::remove_all(folder_); }
  Squeue(const Squeue&) = delete;
  Squeue& operator=(const Squeue&) = delete;

  void go_away() const { std::ofstream{away()}; }
  void come_back() const { std::filesystem::remove(away()); }

private:
  std::filesystem::path away() const { return folder_ / "away"; }

  std::filesystem::path folder_;
};

class SlurmAccounting : public SlurmTest {};

TEST_F(SlurmAccounting, tells_how_a_job_ended_that_slurm_has_forgotten) {
  clusters::SlurmAccounting cluster;
  ASSERT_TRUE(cluster.is_up());
  Squeue squeue(cluster);
  BackendTest test(make_slurm(slurm_options()));
  auto job = test.create("one", "stop\nexit 7");
  test.logs_with(job.id, "stopping");
  auto id = only_running();
  squeue.go_away();
  clusters::ask_slurm("scancel --signal=CONT --batch " + id);
  EXPECT_TRUE(eventually([&] {
    return clusters::ask_slurm("scontrol show job " + id + " 2>&1").find("Invalid job") !=
           std::string::npos;
  }));
  EXPECT_EQ(test.events.of(job.id).size(), 1u) << "it was seen to end";
  squeue.come_back();
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.exit_code, 7) << last.detail;
  EXPECT_TRUE(last.confirmed);
}

} // namespace
} // namespace fiber::backends
