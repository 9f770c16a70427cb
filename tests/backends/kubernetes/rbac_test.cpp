// SPDX-License-Identifier: Apache-2.0
// The promise: deploy/kubernetes/rbac.yaml grants a driver all it needs and nothing else:
// without any of the verbs an error names the missing right.
#include <unistd.h>

#include <algorithm>
#include <random>

#include <yaml-cpp/yaml.h>

#include "backends/kubernetes/api.hpp"
#include "backends/kubernetes/kubernetes_backend.hpp"
#include "backends/kubernetes/manifests.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "tests/backends/contract.hpp"
#include "tests/backends/heard_log.hpp"
#include "tests/clusters/cluster.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

struct Right {
  std::string group, resource, verb;
};

void PrintTo(const Right& right, std::ostream* out) {
  *out << right.verb << " " << right.resource;
}

std::vector<Right> rights_of_the_role() {
  std::vector<Right> rights;
  for (auto& document : YAML::LoadAllFromFile(RBAC_YAML))
    if (document["kind"].Scalar() == "Role")
      for (const auto& rule : document["rules"])
        for (const auto& verb : rule["verbs"])
          rights.push_back({rule["apiGroups"][0].Scalar(), rule["resources"][0].Scalar(),
                            verb.Scalar()});
  return rights;
}

/// Creates users with parts of the role, in a namespace of their own.
class Rbac : public testing::Test {
protected:
  void SetUp() override {
    if (!clusters::kubernetes())
      GTEST_SKIP() << "SKIPPED: no Kubernetes cluster is up";
    admin_.emplace(loop_, access());
    create("/api/v1/namespaces", {{"metadata", {{"name", space_}}}});
  }

  void TearDown() override {
    if (!admin_)
      return;
    admin_->call({.method = "DELETE", .path = "/api/v1/namespaces/" + space_});
    admin_->close();
    loop_.stop();
  }

  Access access() const {
    return from_kubeconfig(
      {.name_space = space_, .files = clusters::kubernetes()->at("KUBECONFIG")});
  }

  void create(const std::string& path, const json& object) {
    auto reply = admin_->call(json_request("POST", path, object));
    ASSERT_TRUE(reply.ok()) << problem(reply);
  }

  /// Creates the user and waits until its rights are effective.
  Access user(const std::string& name, const std::vector<Right>& rights) {
    auto path = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + space_;
    json rules = json::array();
    for (auto& [group, resource, verb] : rights)
      rules.push_back(
        {{"apiGroups", {group}}, {"resources", {resource}}, {"verbs", {verb}}});
    create(path + "/roles", {{"metadata", {{"name", name}}}, {"rules", rules}});
    create(
      path + "/rolebindings",
      {{"metadata", {{"name", name}}},
       {"roleRef",
        {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", name}}},
       {"subjects",
        {{{"apiGroup", "rbac.authorization.k8s.io"},
          {"kind", "User"},
          {"name", name}}}}});
    auto made = access();
    made.identity.impersonation = {"Impersonate-User: " + name};
    EXPECT_TRUE(eventually([&] { return may(space_, made, rights.back()); }));
    return made;
  }

  static bool may(const std::string& space, const Access& user, const Right& right) {
    Loop loop;
    Api api(loop, user);
    auto slash = right.resource.find('/');
    json attributes{{"namespace", space},
                    {"verb", right.verb},
                    {"group", right.group},
                    {"resource", right.resource.substr(0, slash)}};
    if (slash != std::string::npos)
      attributes["subresource"] = right.resource.substr(slash + 1);
    auto reply = api.call(
      json_request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                   {{"apiVersion", "authorization.k8s.io/v1"},
                    {"kind", "SelfSubjectAccessReview"},
                    {"spec", {{"resourceAttributes", attributes}}}}));
    api.close();
    loop.stop();
    return part(parse_reply(reply.body), "status", "allowed") == true;
  }

  /// Runs two pods to their ends, unless `enough`. Returns the errors.
  std::string session(const Access& user, const std::function<bool()>& enough) {
    std::string trouble;
    Events events;
    std::unique_ptr<Backend> backend;
    auto ended = [&](const JobId& job) {
      auto all = events.of(job);
      return !all.empty() && all.back().kind != JobEvent::Kind::started;
    };
    try {
      KubernetesOptions options;
      options.access = user;
      options.image = "localhost/fiber-test:kubernetes_test";
      options.forward_output = false;
      backend = make_kubernetes(options);
      backend->watch([&](const JobEvent& event) { events.add(event); });
      auto spec = [](const std::string& name) {
        auto made = BackendTest::spec(name, "print here\nwait");
        made.resources.cpu = 0.01;
        return made;
      };
      backend->anchor(spec("anchor"));
      backend->create(spec("one"));
      backend->create(spec("two"));
      eventually([&] {
        return enough() || ended("one") ||
               (backend->logs("one") == "here\nwaiting\n" &&
                backend->logs("two") == "here\nwaiting\n");
      });
      backend->terminate("one", milliseconds(0));
      eventually([&] { return enough() || ended("one"); });
    } catch (const EngineError& error) {
      trouble += error.what();
    }
    backend.reset();
    for (auto* job : {"one", "two"})
      for (auto& event : events.of(job))
        if (event.kind == JobEvent::Kind::failed)
          trouble += event.detail + "\n";
    return trouble;
  }

  std::size_t left(const std::string& path) {
    auto reply = admin_->call(
      {.path =
         path + "?labelSelector=" + http::escape(std::string(managed_label) + "=fiber")});
    return part(parse_reply(reply.body), "items").size();
  }

  const std::string space_ = "fiber-rbac-" + std::to_string(::getpid()) + "-" +
                             std::to_string(std::random_device{}());
  HeardLog heard_;
  Loop loop_;
  std::optional<Api> admin_;
};

TEST_F(Rbac, the_role_is_enough_and_nothing_is_left) {
  EXPECT_EQ(session(user("whole", rights_of_the_role()), [] { return false; }), "");
  EXPECT_FALSE(heard_.has("cannot")) << heard_.text();
  auto core = "/api/v1/namespaces/" + space_,
       batch = "/apis/batch/v1/namespaces/" + space_;
  for (auto& path : {core + "/pods", core + "/secrets", batch + "/jobs"})
    EXPECT_TRUE(eventually([&] { return left(path) == 0; })) << path;
}

class EachRight : public Rbac, public testing::WithParamInterface<Right> {};

TEST_P(EachRight, a_missing_right_is_named) {
  auto rights = rights_of_the_role();
  auto& [group, resource, verb] = GetParam();
  std::erase_if(rights, [&](auto& right) {
    return right.group == group && right.resource == resource && right.verb == verb;
  });
  ASSERT_EQ(rights.size() + 1, rights_of_the_role().size());
  auto words = "cannot " + verb + " resource \"" + resource + "\"";
  auto trouble = session(user("without", rights), [&] { return heard_.has(words); });
  auto told = trouble + heard_.text();
  EXPECT_NE(told.find(words), told.npos) << told;
  EXPECT_NE(told.find("deploy/kubernetes/rbac.yaml"), told.npos) << told;
}

/// Returns all rights but `get` of pods and jobs, which are needed only for the driver's
/// own pod and for lost replies, and `patch` of jobs, which is needed only if a webhook
/// adds containers: tests with a scripted server cover them.
std::vector<Right> rights_of_each_session() {
  auto rights = rights_of_the_role();
  std::erase_if(rights, [](auto& right) {
    return right.verb == "patch" || (right.verb == "get" && (right.resource == "pods" ||
                                                             right.resource == "jobs"));
  });
  return rights;
}

INSTANTIATE_TEST_SUITE_P(kubernetes, EachRight,
                         testing::ValuesIn(rights_of_each_session()), [](auto& info) {
                           auto name = info.param.verb + "_" + info.param.resource;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

} // namespace

} // namespace fiber::backends::kubernetes
