// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>

#include "backends/kubernetes/access.hpp"
#include "backends/kubernetes/kubernetes_backend.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "cli/engines/open_files.hpp"
#include "cli/engines/probe.hpp"
#include "cli/kubernetes/client.hpp"
#include "cli/kubernetes/kubernetes.hpp"

namespace fiber::cli::kubernetes {
namespace {

using backends::kubernetes::part;
using backends::kubernetes::problem;
using backends::kubernetes::text;
using nlohmann::json;

constexpr auto engine_name = "kubernetes";
constexpr std::chrono::seconds longest_check{8};

/// A right that the backend uses, as in deploy/kubernetes/rbac.yaml.
struct Right {
  const char *group, *resource, *verb;
};
constexpr Right rights[] = {{"", "pods", "create"},    {"", "pods", "get"},
                            {"", "pods", "list"},      {"", "pods", "watch"},
                            {"", "pods", "delete"},    {"", "pods", "deletecollection"},
                            {"", "pods/log", "get"},   {"", "secrets", "create"},
                            {"", "secrets", "delete"}, {"batch", "jobs", "create"},
                            {"batch", "jobs", "get"},  {"batch", "jobs", "delete"}};

bool has(const std::string& text, const char* words) {
  return text.find(words) != text.npos;
}

std::string advice_for_access(const backends::SettingError& error) {
  if (error.key == "kubeconfig")
    return "put a kubeconfig where kubectl looks for it, ~/.kube/config, or name it with "
           "KUBECONFIG; who runs the "
           "cluster has one for you";
  if (error.key == "context" || error.key == "current-context")
    return "choose a context that kubectl config get-contexts shows: kubernetes_context "
           "(FIBER_KUBERNETES_CONTEXT), or "
           "kubectl config use-context NAME";
  if (error.key == "namespace")
    return "correct kubernetes_namespace (FIBER_KUBERNETES_NAMESPACE)";
  return "correct " + error.key + " in " + error.place + "; valid: " + error.valid;
}

std::string advice_for_server(const backends::http::Reply& reply) {
  if (reply.untrusted)
    return "the kubeconfig's certificate-authority must be that of this server: get a "
           "new kubeconfig, or correct the "
           "address (kubectl config view)";
  if (reply.status == 401)
    return "log in again as for kubectl: the token, certificate or plugin in the "
           "kubeconfig is not valid any more";
  if (reply.status == 0)
    return "see whether the address is right (kubectl config view), the server is up and "
           "no firewall or VPN is between "
           "(kubectl cluster-info); another cluster is chosen with kubernetes_context";
  return "ask who runs the cluster; kubectl get --raw /version must answer";
}

std::string advice_for_session(const std::string& words) {
  if (has(words, "Unschedulable"))
    return "no node has room for the pod: see kubectl describe nodes; ask for less "
           "(Resources), end other pods, or add "
           "what the nodes want (node selector, tolerations) to kubernetes_pod_template";
  if (has(words, "ErrImage") || has(words, "ImagePull") || has(words, "InvalidImageName"))
    return "bring the image where the nodes get it: push it to a registry (fiber run "
           "--build --push), or import it on each "
           "node; correct its name (--image); for a private registry put "
           "imagePullSecrets into kubernetes_pod_template";
  if (has(words, "no such file or directory") || has(words, "executable file not found"))
    return "the image lacks the program: make it again with fiber run --build, or "
           "make-image";
  if (has(words, "exceeded quota"))
    return "ask for less (Resources), or for a larger quota of the namespace";
  return {};
}

/// The rule of a Role that grants a right, as a line of YAML.
std::string rule(const Right& right) {
  return std::string("- {apiGroups: [\"") + right.group + "\"], resources: [" +
         right.resource + "], verbs: [" + right.verb + "]}";
}

/// The checks of one cluster, from the kubeconfig to a job.
class Diagnosis {
public:
  Diagnosis(const DoctorRequest& request, Report& report)
    : request_(request), report_(report) {}

  void make() {
    check_open_files(engine_name, backends::kubernetes::descriptors_per_job, usual_jobs,
                     report_);
    if (!report_.check(engine_name, "access", [this] { return find_access(); }) ||
        !report_.check(engine_name, "API server", [this] { return reach(); }) ||
        !report_.check(engine_name, "namespace", [this] { return find_namespace(); }) ||
        !report_.check(engine_name, "rights", [this] { return compare_rights(); }))
      return;
    if (request_.image.empty() && !backends::kubernetes::inside_pod())
      return report_.skip(
        engine_name, "session",
        "no image is set: --image with one that has this command, or your program");
    client_.reset();
    Config config;
    config.backend = engine_name;
    if (!request_.image.empty())
      config.image = request_.image;
    config.start_deadline = config.queue_deadline = request_.deadline;
    probe(engine_name, config, report_, advice_for_session);
  }

private:
  std::string find_access() {
    try {
      auto access = configured_access();
      auto found = access.source + ", namespace " + access.name_space;
      client_ = std::make_unique<Client>(std::move(access));
      return found;
    } catch (const backends::SettingError& error) {
      throw Trouble(error.what(), advice_for_access(error));
    }
  }

  std::string reach() {
    auto reply = client_->ask("GET", "/version", longest_check);
    if (!reply.ok())
      throw Trouble(client_->api().description() + ": " + problem(reply),
                    advice_for_server(reply));
    return "Kubernetes " +
           text(backends::kubernetes::parse_reply(reply.body), "gitVersion") + " at " +
           client_->api().description();
  }

  std::string find_namespace() {
    auto& name = client_->api().name_space();
    auto reply = client_->ask("GET", "/api/v1/namespaces/" + name, longest_check);
    bool hidden = reply.status == 403; // Then what a pod there would be told.
    if (hidden)
      reply = client_->ask(
        "POST", client_->api().path("pods") + "?dryRun=All",
        json{{"metadata", {{"name", "fiber-doctor"}}},
             {"spec", {{"containers", {{{"name", "fiber"}, {"image", "none:1"}}}}}}});
    if (reply.status == not_found)
      throw Trouble("there is no namespace " + name,
                    "kubectl create namespace " + name +
                      ", or choose another: kubernetes_namespace "
                      "(FIBER_KUBERNETES_NAMESPACE)");
    if (reply.status == 401)
      throw Trouble(problem(reply), advice_for_server(reply));
    if (!hidden && !reply.ok())
      throw Trouble(problem(reply), "ask who runs the cluster");
    return name + (hidden ? " (as far as one can see without the right to look at it)"
                          : " is there");
  }

  std::string compare_rights() {
    std::string missing, rules;
    for (auto& right : rights)
      if (!allowed(right)) {
        missing +=
          std::string(missing.empty() ? "" : ", ") + right.verb + " " + right.resource;
        rules += "\n" + rule(right);
      }
    if (!missing.empty())
      throw Trouble("may not " + missing + " in namespace " + client_->api().name_space(),
                    "kubectl -n " + client_->api().name_space() +
                      " apply -f deploy/kubernetes/rbac.yaml, and for a driver outside "
                      "the cluster kubectl -n " +
                      client_->api().name_space() +
                      " create rolebinding fiber-me --role fiber --user YOU; the rules "
                      "that are missing are" +
                      rules);
    return "all " + std::to_string(std::size(rights)) + " that a session uses";
  }

  bool allowed(const Right& right) {
    std::string resource = right.resource, sub;
    if (auto slash = resource.find('/'); slash != resource.npos) {
      sub = resource.substr(slash + 1);
      resource.resize(slash);
    }
    json attributes{{"namespace", client_->api().name_space()},
                    {"verb", right.verb},
                    {"group", right.group},
                    {"resource", resource}};
    if (!sub.empty())
      attributes["subresource"] = sub;
    auto reply =
      client_->ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                   json{{"apiVersion", "authorization.k8s.io/v1"},
                        {"kind", "SelfSubjectAccessReview"},
                        {"spec", {{"resourceAttributes", attributes}}}});
    if (!reply.ok())
      throw Trouble("ask for the rights: " + problem(reply), advice_for_server(reply));
    return part(backends::kubernetes::parse_reply(reply.body), "status", "allowed") ==
           true;
  }

  const DoctorRequest& request_;
  Report& report_;
  std::unique_ptr<Client> client_;
};

} // namespace

void diagnose(const DoctorRequest& request, Report& report) {
  Diagnosis(request, report).make();
}

} // namespace fiber::cli::kubernetes
