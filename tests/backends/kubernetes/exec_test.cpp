// SPDX-License-Identifier: Apache-2.0
// The promise: an exec plugin runs when its last answer is no longer valid, and its
// problems are reported.
#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/kubernetes/base64.hpp"
#include "tests/backends/contract.hpp"
#include "tests/backends/kubernetes/asker.hpp"

namespace fiber::backends::kubernetes {

namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using Lines = std::vector<std::string>;

const std::string v1 = "client.authentication.k8s.io/v1";
const std::string far_away = "2999-01-01T00:00:00Z";

class ExecPluginTest : public KubernetesFiles {
protected:
  /// Returns a kubeconfig's user with a plugin; `more` are further lines of `exec`.
  static std::string user(const std::string& command, const std::string& more = "",
                          const std::string& version = v1) {
    return "    exec:\n"
           "      apiVersion: " +
           version +
           "\n"
           "      interactiveMode: Never\n"
           "      command: " +
           command + "\n" + more;
  }
  /// Returns access with this script as plugin. Line 11 of the file names it.
  Access scripted(const std::string& script, const std::string& more = "") {
    write_script("plugin", script);
    return read(config(user("./plugin", more)));
  }
  /// Returns a shell line that prints a credential.
  static std::string print(const json& status, const std::string& version = v1) {
    json answer{{"apiVersion", version}, {"kind", "ExecCredential"}, {"status", status}};
    return "cat <<'END'\n" + answer.dump() + "\nEND\n";
  }
  /// A shell line that counts the runs, and the count.
  std::string count() const { return "echo >>" + path("runs") + "\n"; }
  std::size_t runs() const {
    std::ifstream file(path("runs"));
    std::size_t lines = 0;
    for (std::string line; std::getline(file, line);)
      ++lines;
    return lines;
  }
  std::string prefix() const { return path("config") + ":11: exec plugin ./plugin: "; }
};

TEST_F(ExecPluginTest, a_plugins_token_is_kept_until_it_expires) {
  Asker asker(
    scripted(count() + print({{"token", "sesame"}, {"expirationTimestamp", far_away}})));
  EXPECT_EQ(asker.say(), "Authorization: Bearer sesame");
  EXPECT_EQ(asker.say(), "Authorization: Bearer sesame");
  EXPECT_EQ(runs(), 1u);
}

TEST_F(ExecPluginTest, an_expired_answer_makes_the_plugin_run_again) {
  Asker asker(scripted(
    count() +
    print({{"token", "sesame"}, {"expirationTimestamp", "2020-01-01T00:00:00Z"}})));
  auto first = asker.get();
  EXPECT_EQ(first.headers, Lines{"Authorization: Bearer sesame"});
  auto second = asker.get();
  EXPECT_EQ(runs(), 2u);
  EXPECT_GT(second.serial, first.serial);
  EXPECT_EQ(second.endpoint, first.endpoint); // No reason for new connections.
}

TEST_F(ExecPluginTest, a_rejected_answer_makes_the_plugin_run_again) {
  write("answer", "");
  Asker asker(scripted(count() + ". " + path("answer")));
  write("answer", print({{"token", "one"}}));
  auto one = asker.get();
  EXPECT_EQ(one.headers, Lines{"Authorization: Bearer one"});
  write("answer", print({{"token", "two"}}));
  // Without an expiry it stays valid.
  EXPECT_EQ(asker.say(), "Authorization: Bearer one");
  EXPECT_TRUE(asker.refused(one.serial));
  EXPECT_TRUE(asker.refused(one.serial));
  EXPECT_EQ(asker.say(), "Authorization: Bearer two");
  EXPECT_TRUE(asker.refused(one.serial)); // A late rejection of the previous one.
  EXPECT_EQ(asker.say(), "Authorization: Bearer two");
  EXPECT_EQ(runs(), 2u);
}

TEST_F(ExecPluginTest, a_plugin_runs_once_for_concurrent_requests) {
  ASSERT_EQ(::mkfifo(path("gate").c_str(), 0600), 0);
  Asker asker(
    scripted(count() + "read line <" + path("gate") + "\n" + print({{"token", "t"}})));
  auto first = asker.ask(), second = asker.ask();
  std::ofstream(path("gate")) << "go\n"; // Blocks until the plugin reads.
  EXPECT_EQ(Asker::wait(std::move(first)).headers, Lines{"Authorization: Bearer t"});
  EXPECT_EQ(Asker::wait(std::move(second)).headers, Lines{"Authorization: Bearer t"});
  EXPECT_EQ(runs(), 1u);
}

TEST_F(ExecPluginTest, a_plugins_certificate_is_used_and_rotated) {
  json status{{"clientCertificateData", certificate}, {"clientKeyData", private_key}};
  write("answer", print(status));
  Asker asker(scripted(". " + path("answer")));
  auto first = asker.get();
  EXPECT_TRUE(first.headers.empty());
  EXPECT_EQ(first.endpoint->url, "https://10.0.0.1:6443");
  EXPECT_EQ(first.endpoint->client_cert_pem, certificate);
  EXPECT_EQ(first.endpoint->client_key_pem, private_key);
  EXPECT_TRUE(asker.refused(first.serial));
  EXPECT_EQ(asker.get().endpoint, first.endpoint); // Unchanged.
  status["clientCertificateData"] = certificate + certificate;
  write("answer", print(status));
  EXPECT_TRUE(asker.refused(asker.get().serial));
  auto second = asker.get();
  EXPECT_NE(second.endpoint, first.endpoint);
  EXPECT_EQ(second.endpoint->client_cert_pem, certificate + certificate);
}

TEST_F(ExecPluginTest, a_failing_plugin_is_quoted_and_run_again) {
  Asker asker(scripted("test -e " + path("good") +
                       " || { echo sesame; echo not logged in >&2; exit 3; }\n" +
                       print({{"token", "t"}})));
  EXPECT_EQ(asker.say(), prefix() + "exit code 3: not logged in");
  write("good", "");
  EXPECT_EQ(asker.say(), "Authorization: Bearer t");
}

TEST_F(ExecPluginTest, a_killed_plugin_is_reported) {
  Asker asker(scripted("kill -9 $$\n"));
  EXPECT_EQ(asker.say(), prefix() + "killed by signal 9");
}

TEST_F(ExecPluginTest, a_hanging_plugin_is_killed_with_its_children) {
  Asker asker(scripted("echo $$ >" + path("pid") + "\nsleep 1000 &\necho $! >" +
                       path("child") + "\necho asking >&2\nwait\n"),
              500ms);
  EXPECT_EQ(asker.say(), prefix() + "no answer within 500 ms: asking");
  EXPECT_TRUE(process_gone(std::stoi(first_line(path("pid")))));
  EXPECT_TRUE(
    eventually([&] { return process_gone(std::stoi(first_line(path("child")))); }));
}

TEST_F(ExecPluginTest, a_plugin_may_end_before_its_children) {
  Asker asker(
    scripted("sleep 1000 &\necho $! >" + path("child") + "\n" + print({{"token", "t"}})));
  EXPECT_EQ(asker.say(), "Authorization: Bearer t");
  auto child = std::stoi(first_line(path("child")));
  EXPECT_FALSE(process_gone(child)); // A login browser, for example.
  ::kill(child, SIGKILL);
}

TEST_F(ExecPluginTest, destroying_the_credentials_kills_the_plugin) {
  Asker asker(scripted("echo $$ >" + path("pid") + "\nexec sleep 1000\n"));
  auto pass = asker.ask();
  ASSERT_TRUE(eventually([&] { return !first_line(path("pid")).empty(); }));
  asker.drop();
  EXPECT_TRUE(process_gone(std::stoi(first_line(path("pid")))));
  EXPECT_THROW(pass.get(), std::future_error); // The callback was dropped.
}

TEST_F(ExecPluginTest, a_plugin_that_prints_without_end_is_killed) {
  EXPECT_EQ(Asker(scripted("exec cat /dev/zero\n")).say(), prefix() + "too much output");
}

TEST_F(ExecPluginTest, a_plugins_answer_is_checked) {
  const std::string v1beta1 = v1 + "beta1";
  auto text = [](const json& answer) {
    return "cat <<'END'\n" + answer.dump() + "\nEND\n";
  };
  json good{{"apiVersion", v1}, {"kind", "ExecCredential"}};
  const std::pair<std::string, std::string> cases[] = {
    {"true\n", "it printed nothing"},
    {"echo sesame\n", "what it printed is no JSON object"},
    {"echo [1]\n", "what it printed is no JSON object"},
    {text({{"apiVersion", v1}, {"kind", "Pod"}}), "kind is \"Pod\", not ExecCredential"},
    {text({{"apiVersion", v1}, {"kind", 7}}), "kind is no text"},
    {print({{"token", "t"}}, v1beta1),
     "apiVersion is \"" + v1beta1 + "\", but " + v1 + " is configured"},
    {text(good), "there is no status"},
    {print(json::object()), "status has neither token nor clientCertificateData"},
    {print({{"token", 7}}), "token is no text"},
    {print({{"token", "a\r\nb"}}), "status.token has a control character"},
    {print({{"clientCertificateData", certificate}}),
     "status has only one of clientCertificateData and clientKeyData"},
    {print({{"token", "t"}, {"clientKeyData", "sesame"}}),
     "status.clientKeyData is no PEM"},
    {print({{"token", "t"}, {"expirationTimestamp", "tomorrow"}}),
     "status.expirationTimestamp is no RFC 3339 time"},
  };
  for (const auto& [script, problem] : cases)
    EXPECT_EQ(Asker(scripted(script)).say(), prefix() + problem);
}

TEST_F(ExecPluginTest, a_plugin_gets_arguments_and_environment) {
  set("FIBER_TEST_OUTER", "outer");
  set("FIBER_TEST_BOTH", "outer");
  auto access = scripted("printf '%s\\n' \"$1|$2|$FIBER_TEST_OUTER|$FIBER_TEST_BOTH\" >" +
                           path("seen") + "\ncat >>" + path("seen") +
                           "\nprintf '%s' \"$KUBERNETES_EXEC_INFO\" >" + path("info") +
                           "\n" + print({{"token", "t"}}),
                         "      args: [\"a b\", --token]\n"
                         "      env: [{name: FIBER_TEST_BOTH, value: inner}]\n");
  EXPECT_EQ(Asker(access).say(), "Authorization: Bearer t");
  EXPECT_EQ(first_line(path("seen")), "a b|--token|outer|inner");
  EXPECT_EQ(json::parse(first_line(path("info"))),
            (json{{"apiVersion", v1},
                  {"kind", "ExecCredential"},
                  {"spec", {{"interactive", false}}}}));
}

TEST_F(ExecPluginTest, a_plugin_gets_the_cluster_if_configured) {
  write_script("plugin", "printf '%s' \"$KUBERNETES_EXEC_INFO\" >" + path("info") + "\n" +
                           print({{"token", "t"}}));
  write("ca.crt", certificate);
  auto access = read(
    config(user("./plugin", "      provideClusterInfo: true\n"),
           "    certificate-authority: ca.crt\n"
           "    tls-server-name: api\n"
           "    proxy-url: http://proxy\n"
           "    extensions:\n"
           "    - {name: other, extension: 1}\n"
           "    - name: client.authentication.k8s.io/exec\n"
           "      extension: {audience: x, n: 7, s: \"7\", on: true, l: [null, 1.5]}\n"));
  EXPECT_EQ(Asker(access).say(), "Authorization: Bearer t");
  auto cluster = json::parse(first_line(path("info")))["spec"]["cluster"];
  EXPECT_EQ(cluster, json::parse(R"({"server": "https://10.0.0.1:6443/",
    "certificate-authority-data": ")" +
                                 encode_base64(certificate) + R"(",
    "tls-server-name": "api", "proxy-url": "http://proxy",
    "config": {"audience": "x", "n": 7, "s": "7", "on": true, "l": [null, 1.5]}})"));
}

TEST_F(ExecPluginTest, v1beta1_does_not_require_interactiveMode) {
  write_script("plugin", print({{"token", "t"}}, v1 + "beta1"));
  auto text = "    exec: {command: ./plugin, apiVersion: " + v1 + "beta1}\n";
  EXPECT_EQ(Asker(read(config(text))).say(), "Authorization: Bearer t");
}

TEST_F(ExecPluginTest, a_plugin_is_found_in_path_or_beside_its_kubeconfig) {
  write_script("bin/fiber-test-plugin", print({{"token", "from path"}}));
  write_script("sub/plugin", print({{"token", "beside"}}));
  EXPECT_EQ(Asker(read(config(user("sub/plugin")))).say(),
            "Authorization: Bearer beside");
  EXPECT_EQ(Asker(read(config(user(path("sub/plugin"))))).say(),
            "Authorization: Bearer beside");
  set("PATH", path("bin") + ":" + std::getenv("PATH"));
  EXPECT_EQ(Asker(read(config(user("fiber-test-plugin")))).say(),
            "Authorization: Bearer from path");
}

TEST_F(ExecPluginTest, a_missing_plugin_is_reported_with_its_install_hint) {
  auto error =
    error_of(config(user("fiber-no-such", "      installHint: get it there\n")));
  EXPECT_EQ(error.key, "users[0].user.exec.command");
  EXPECT_EQ(error.place, path("config") + ":11");
  EXPECT_EQ(error.problem, "there is no \"fiber-no-such\" in PATH");
  EXPECT_EQ(error.valid, "get it there");
  write("plain", "no program");
  error = error_of(config(user("./plain")));
  EXPECT_EQ(error.problem, path("plain") + " is no program that can be run");
  auto access = scripted("true\n", "      installHint: get it there\n");
  std::filesystem::remove(path("plugin"));
  EXPECT_EQ(Asker(access).say(), prefix() + "No such file or directory; get it there");
}

TEST_F(ExecPluginTest, with_a_token_no_plugin_runs) {
  auto access = read(config("    token: sesame\n" + user("fiber-no-such")));
  EXPECT_EQ(Asker(access).say(), "Authorization: Bearer sesame");
}

TEST_F(ExecPluginTest, an_invalid_plugin_configuration_is_refused) {
  write_script("plugin", "true");
  const std::string exec = "users[0].user.exec.";
  struct {
    std::string lines, key, problem;
  } const cases[] = {
    {"{command: ./plugin}", "apiVersion", "is missing"},
    {"{command: ./plugin, apiVersion: client.authentication.k8s.io/v1alpha1}",
     "apiVersion", "\"client.authentication.k8s.io/v1alpha1\" is not supported"},
    {"{apiVersion: " + v1 + "}", "command", "is missing"},
    {"{command: ./plugin, apiVersion: " + v1 + "}", "interactiveMode", "is missing"},
    {"{command: ./plugin, interactiveMode: Often, apiVersion: " + v1 + "}",
     "interactiveMode", "\"Often\" is unknown"},
    {"{command: ./plugin, interactiveMode: Never, env: [{value: x}], apiVersion: " + v1 +
       "}",
     "env[0].name", "is missing"},
  };
  for (const auto& wrong : cases) {
    auto error = error_of(config("    exec: " + wrong.lines + "\n"));
    EXPECT_EQ(error.key, exec + wrong.key);
    EXPECT_EQ(error.problem, wrong.problem);
    EXPECT_EQ(error.place, path("config") + ":8");
  }
}

/// Returns whether a plugin of this mode may be interactive; 2 if it is refused.
int interactive(const KubeconfigOptions& options) {
  try {
    return from_kubeconfig(options).identity.plugin->interactive ? 1 : 0;
  } catch (const AccessError& error) {
    return error.key == "users[0].user.exec.interactiveMode" ? 2 : 3;
  }
}

TEST_F(ExecPluginTest, a_plugin_is_interactive_only_in_a_terminal) {
  write_script("plugin", "true");
  struct {
    std::string mode;
    int without, within;
  } const cases[] = {{"Never", 0, 0}, {"IfAvailable", 0, 1}, {"Always", 2, 1}};
  for (const auto& [mode, without, within] : cases) {
    std::string text = "    exec: {command: ./plugin, apiVersion: " + v1;
    text.append(", interactiveMode: ").append(mode).append("}\n");
    KubeconfigOptions options{.files = write("config", config(text))};
    UniqueFd stdin_before(::dup(STDIN_FILENO)), null(::open("/dev/null", O_RDONLY));
    ::dup2(null.get(), STDIN_FILENO);
    EXPECT_EQ(interactive(options), without) << mode;
    ::dup2(stdin_before.get(), STDIN_FILENO);
    int terminal = -1, status = 0;
    pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0)
      ::_exit(interactive(options));
    ASSERT_GT(child, 0);
    UniqueFd close_at_end(terminal);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, within << 8) << mode;
  }
}

} // namespace

} // namespace fiber::backends::kubernetes
