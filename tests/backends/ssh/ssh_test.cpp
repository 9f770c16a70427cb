// SPDX-License-Identifier: Apache-2.0
// The promise: jobs on hosts with a real sshd keep the contract. Also: the program is
// copied once and checked, or found where it is, and hosts share the jobs by their slots.
#include <algorithm>
#include <filesystem>
#include <map>

#include "tests/backends/heard_log.hpp"
#include "tests/backends/ssh/ssh_fixture.hpp"

namespace fiber::backends {

using Kind = JobEvent::Kind;

INSTANTIATE_TEST_SUITE_P(ssh, Jobs, testing::Values(ssh_traits()), traits_name);
INSTANTIATE_TEST_SUITE_P(ssh, Processes, testing::Values(ssh_traits()), traits_name);

namespace {

class Ssh : public SshTest {
protected:
  /// Returns the name of the host on which a job runs, as the host itself says it.
  static std::string place_of(BackendTest& test, const JobId& job) {
    auto log = test.logs_with(job, "waiting");
    return log.substr(0, log.find('\n'));
  }
  /// Creates jobs that wait, and returns how many of them are on each host.
  static std::map<std::string, int> spread(BackendTest& test, int jobs) {
    std::vector<JobId> ids;
    for (int i = 0; i < jobs; ++i)
      ids.push_back(test.create("job-" + std::to_string(i), "host\nwait").id);
    std::map<std::string, int> count;
    for (auto& id : ids)
      ++count[place_of(test, id)];
    return count;
  }
  /// Returns when each file of the copy on a host was last changed, with its path.
  static std::string copy_on(const std::string& name) {
    return host(
      "run " + name +
      " find /home/fiber -path '*/.cache/fiber/*' -type f -printf '%P %i %C@\\n'");
  }
  /// Runs one job to its end.
  static void run_one(const BackendOptions& options) {
    BackendTest test(make_ssh_backend(options));
    auto last = test.events.last(test.create("one", "exit 7").id);
    EXPECT_EQ(last.exit_code, 7) << last.detail;
  }
};

TEST_F(Ssh, the_end_of_a_job_names_its_host) {
  BackendTest test(make_ssh_backend(ssh_options("fiber-b:1")));
  auto last = test.events.last(test.create("one", "exit 7").id);
  EXPECT_EQ(last.detail, "exit code 7 on fiber-b");
}

TEST_F(Ssh, jobs_run_on_all_hosts_as_many_as_these_have_slots) {
  BackendTest test(make_ssh_backend(ssh_options("fiber-a:1,fiber-b:2,fiber-d:3")));
  auto count = spread(test, 6);
  EXPECT_EQ(count,
            (std::map<std::string, int>{{"fiber-a", 1}, {"fiber-b", 2}, {"fiber-d", 3}}));
}

TEST_F(Ssh, a_host_without_slots_has_one_for_each_core) {
  BackendTest test(make_ssh_backend(ssh_options("fiber-a")));
  auto cores = std::stoi(host("run fiber-a nproc"));
  EXPECT_EQ(spread(test, cores), (std::map<std::string, int>{{"fiber-a", cores}}));
}

TEST_F(Ssh, a_second_start_copies_nothing) {
  host("empty fiber-a");
  run_one(ssh_options("fiber-a:1"));
  auto before = copy_on("fiber-a");
  EXPECT_NE(before, "");
  run_one(ssh_options("fiber-a:1"));
  EXPECT_EQ(copy_on("fiber-a"), before);
  EXPECT_EQ(host("run fiber-a find /home/fiber/.cache/fiber -perm /077"), "")
    << "others can read the copy";
}

TEST_F(Ssh, a_copy_that_was_changed_is_not_run) {
  run_one(ssh_options("fiber-a:1"));
  // Another user of the host could have written it.
  host("run fiber-a chmod -R go+w /home/fiber/.cache/fiber");
  auto problem = problem_of(ssh_options("fiber-a:1"));
  EXPECT_NE(problem.find("another user can write it"), problem.npos) << problem;
  host("empty fiber-a");
}

TEST_F(Ssh, nothing_is_copied_to_a_host_that_has_the_same_program) {
  auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  host("empty fiber-c");
  host("share fiber-c " + program);
  run_one(ssh_options("fiber-c:1"));
  EXPECT_EQ(copy_on("fiber-c"), "");
}

TEST_F(Ssh, another_program_under_the_same_path_is_not_run) {
  auto program = std::filesystem::read_symlink("/proc/self/exe").string();
  auto folder = std::filesystem::path(program).parent_path().string();
  host("empty fiber-a");
  host("run fiber-a mkdir -p " + folder);
  host("run fiber-a cp /bin/true " + program);
  run_one(ssh_options("fiber-a:1"));
  EXPECT_NE(copy_on("fiber-a"), "");
  host("run fiber-a rm -r " + folder);
}

TEST_F(Ssh, libraries_that_a_host_lacks_are_copied_with_the_program) {
  auto program = std::filesystem::read_symlink("/proc/self/exe").string();
  host("empty fiber-a");
  host("lack fiber-a $(ldd " + program + " | awk '/libspdlog|libfmt/ {print $1}')");
  run_one(ssh_options("fiber-a:1"));
  auto copy = copy_on("fiber-a");
  EXPECT_NE(copy.find("/lib/libspdlog.so"), copy.npos) << copy;
  run_one(ssh_options("fiber-a:1"));
  EXPECT_EQ(copy_on("fiber-a"), copy);
  host("empty fiber-a"); // Others have the libraries there.
}

TEST_F(Ssh, any_login_shell_will_do) {
  for (std::string shell : {"/usr/bin/fish", "/usr/bin/zsh", "/bin/dash"}) {
    SCOPED_TRACE(shell);
    host("shell fiber-a " + shell);
    host("empty fiber-a");
    run_one(ssh_options("fiber-a:1")); // Copies the program.
    run_one(ssh_options("fiber-a:1"));
  }
}

TEST_F(Ssh, a_bashrc_that_prints_and_a_banner_do_no_harm) {
  host("sshd fiber-a 'Banner /etc/hosts'");
  const auto print = "as fiber-a sh -c 'echo \"echo hello; echo oops >&2\" >~/.bashrc'";
  host("empty fiber-a");
  host(print);
  run_one(ssh_options("fiber-a:1")); // Copies the program.
  run_one(ssh_options("fiber-a:1"));
}

TEST_F(Ssh, a_host_that_is_down_is_named_and_the_others_run) {
  host("kill fiber-b");
  HeardLog heard;
  {
    BackendTest test(make_ssh_backend(ssh_options("fiber-a:2,fiber-b:2,fiber-d:2")));
    auto count = spread(test, 4);
    EXPECT_EQ(count, (std::map<std::string, int>{{"fiber-a", 2}, {"fiber-d", 2}}));
    EXPECT_TRUE(eventually([&] { return heard.has("fiber-b"); }));
  }
  host("start fiber-b");
}

TEST_F(Ssh, a_host_that_was_down_is_used_once_it_is_up) {
  host("kill fiber-b");
  BackendTest test(make_ssh_backend(ssh_options("fiber-a:1,fiber-b:1")));
  auto one = test.create("one", "host\nwait");
  EXPECT_EQ(place_of(test, one.id), "fiber-a");
  host("start fiber-b");
  auto two = test.create("two", "host\nwait");
  EXPECT_EQ(place_of(test, two.id), "fiber-b");
}

} // namespace

} // namespace fiber::backends
