// SPDX-License-Identifier: Apache-2.0
// The objects that are sent to the API server: names, limits, precedence over the user's
// template.
#include "backends/kubernetes/manifests.hpp"

#include <algorithm>

#include "backends/kubernetes/base64.hpp"
#include "tests/backends/contract.hpp"
#include "tests/backends/kubernetes/kubernetes_files.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

class Manifests : public KubernetesFiles {
protected:
  Manifests() {
    plan_.session = "0123456789";
    plan_.image = "lab/program:1";
    plan_.template_pod = json::object();
    plan_.executable = "/app/program";
    plan_.directory = "/work";
    plan_.arguments = {"--lr", "0.1"};
  }

  json pod() { return pod_body(plan_, spec_, 7, owner_); }
  json container() { return pod()["spec"]["containers"].back(); }
  /// Returns the value of a variable, or null. Fails the test if there are two.
  json variable(const std::string& name) {
    json found;
    auto variables = container()["env"];
    for (auto& each : variables)
      if (each["name"] == name) {
        EXPECT_TRUE(found.is_null()) << "twice: " << name;
        found = each.contains("value") ? each["value"] : each["valueFrom"];
        EXPECT_EQ(each.size(), 2u) << each;
      }
    return found;
  }
  void use_template(const std::string& text) {
    plan_.template_pod = read_pod_template(write("pod.yaml", text));
  }
  std::string refusal(const std::string& text) {
    try {
      use_template(text);
    } catch (const AccessError& error) {
      EXPECT_EQ(error.key, "kubernetes_pod_template");
      return error.what();
    }
    ADD_FAILURE() << "it was taken: " << text;
    return {};
  }

  Plan plan_;
  JobSpec spec_ = BackendTest::spec("worker-1", "wait");
  json owner_;
};

bool is_label(const std::string& name) {
  return !name.empty() && name.size() <= 63 && name.front() != '-' &&
         name.back() != '-' && std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isdigit(c) || (std::isalpha(c) && std::islower(c)) || c == '-';
         });
}

TEST_F(Manifests, names_are_names_of_hosts) {
  for (auto& name : std::vector<std::string>{
         "", "a", "worker-1", "Worker_1", "-", "a.b/c", "\xc3\xa4\xff",
         std::string(500, 'x'), std::string(500, '-'), "x-"}) {
    spec_.name = name;
    for (std::uint64_t serial : {std::uint64_t{1}, ~std::uint64_t{0}}) {
      auto made = pod_name(plan_, spec_, serial);
      EXPECT_TRUE(is_label(made)) << made;
      EXPECT_TRUE(made.starts_with("fiber-0123456789-")) << made;
      EXPECT_TRUE(made.ends_with('-' + std::to_string(serial))) << made;
      EXPECT_EQ(made, pod_name(plan_, spec_, serial));
    }
  }
  spec_.name = "Worker_1";
  EXPECT_EQ(pod_name(plan_, spec_, 7), "fiber-0123456789-worker-1-7");
}

TEST_F(Manifests, a_pod_is_labelled_with_session_and_job) {
  owner_ =
    owner_reference({{"metadata", {{"name", "j"}, {"uid", "u"}}}}, "batch/v1", "Job");
  spec_.labels["team"] = "blue";
  auto about = pod()["metadata"];
  EXPECT_EQ(about["name"], pod_name(plan_, spec_, 7));
  EXPECT_EQ(about["labels"]["app.kubernetes.io/managed-by"], "fiber");
  EXPECT_EQ(about["labels"]["app.kubernetes.io/instance"], "0123456789");
  EXPECT_EQ(about["labels"]["app.kubernetes.io/component"], "worker");
  EXPECT_EQ(about["labels"]["team"], "blue");
  EXPECT_EQ(about["annotations"]["fiber/job"], "worker-1");
  EXPECT_EQ(about["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"],
            "true");
  EXPECT_EQ(about["ownerReferences"],
            json::parse(R"([{"apiVersion": "batch/v1", "kind": "Job", "name": "j",
                             "uid": "u", "controller": false}])"));
  owner_ = nullptr;
  EXPECT_FALSE(pod()["metadata"].contains("ownerReferences"));
}

TEST_F(Manifests, an_owner_that_is_no_object_has_no_name) {
  for (auto& odd : {json(), json(7), json::array(), json{{"metadata", 7}}})
    EXPECT_EQ(owner_reference(odd, "v1", "Pod")["uid"], "") << odd;
}

TEST_F(Manifests, resources_are_requests_and_limits) {
  auto resources = [this] { return container()["resources"]; };
  EXPECT_EQ(resources(), json::parse(R"({"requests": {"cpu": "1000m"}, "limits": {}})"));
  spec_.resources = {.cpu = 0.57, .memory_mb = 512, .gpu = 2};
  EXPECT_EQ(resources(), json::parse(R"({"requests": {"cpu": "570m", "memory": "512Mi"},
                             "limits": {"memory": "512Mi", "nvidia.com/gpu": "2"}})"));
  plan_.gpu_key = "amd.com/gpu";
  EXPECT_EQ(resources()["limits"]["amd.com/gpu"], "2");
  EXPECT_FALSE(resources()["limits"].contains("nvidia.com/gpu"));
}

TEST_F(Manifests, a_pod_has_the_start_parameters) {
  plan_.environment = {{"A", "plan"}, {"B", "plan"}, {"FIBER_NODE", "no"}};
  spec_.environment = {{"B", "job"}, {"C", "a=b, c"}};
  spec_.boot = Bytes{std::byte{0}, std::byte{255}, std::byte{16}};
  EXPECT_EQ(variable("A"), "plan");
  EXPECT_EQ(variable("B"), "job");
  EXPECT_EQ(variable("C"), "a=b, c");
  EXPECT_EQ(variable("FIBER_NODE"), "pod:AP8Q");
  for (auto& [name, field] :
       std::map<std::string, std::string>{{"POD_NAME", "metadata.name"},
                                          {"POD_NAMESPACE", "metadata.namespace"},
                                          {"POD_UID", "metadata.uid"},
                                          {"POD_IP", "status.podIP"},
                                          {"NODE_NAME", "spec.nodeName"}})
    EXPECT_EQ(variable(name)["fieldRef"]["fieldPath"], field);
  EXPECT_EQ(container()["args"], (json{"--lr", "0.1"}));
}

TEST_F(Manifests, a_pod_refers_to_the_keys_in_the_secret) {
  auto keys = BackendTest::keys();
  std::string plain(reinterpret_cast<const char*>(keys.data()), keys.size());
  auto text = pod().dump();
  EXPECT_EQ(text.find(encode_base64(plain).substr(0, 40)), text.npos);
  auto secret = secret_body(plan_, pod_name(plan_, spec_, 7), keys, owner_);
  EXPECT_EQ(decode_base64(secret["data"]["keys"].get<std::string>()), plain);
  EXPECT_EQ(pod()["spec"]["volumes"][0]["secret"]["secretName"],
            secret["metadata"]["name"]);
  EXPECT_EQ(container()["volumeMounts"][0]["readOnly"], true);
}

TEST_F(Manifests, the_program_is_named_only_in_our_own_image) {
  EXPECT_FALSE(container().contains("command"));
  EXPECT_EQ(container()["image"], "lab/program:1");
  plan_.own_image = true;
  EXPECT_EQ(container()["command"], json{"/app/program"});
  EXPECT_EQ(container()["workingDir"], "/work");
  spec_.image = "other:2";
  EXPECT_EQ(container()["image"], "other:2");
  EXPECT_FALSE(container().contains("command"));
}

TEST_F(Manifests, a_deadline_is_set_if_the_server_needs_it) {
  EXPECT_FALSE(pod()["spec"].contains("activeDeadlineSeconds"));
  plan_.deadline = std::chrono::hours(1);
  EXPECT_EQ(pod()["spec"]["activeDeadlineSeconds"], 3600);
}

// -- the template -----------------------------------------------------------------------

constexpr auto full_template = R"(apiVersion: v1
kind: Pod
metadata:
  name: ignored
  labels: {team: blue, app.kubernetes.io/instance: stolen}
  annotations: {note: "7"}
spec:
  nodeSelector: {disk: ssd}
  restartPolicy: Always
  volumes:
  - {name: shm, emptyDir: {medium: Memory}}
  - {name: fiber-keys, emptyDir: {}}
  containers:
  - name: sidecar
    image: side:1
  - name: fiber
    image: lab/template:3
    env:
    - {name: OMP_NUM_THREADS, value: "1"}
    - {name: POD_IP, value: 127.0.0.1}
    resources:
      limits: {cpu: 2, nvidia.com/gpu: 1}
    volumeMounts:
    - {name: shm, mountPath: /dev/shm}
    securityContext: {runAsNonRoot: true}
)";

TEST_F(Manifests, our_part_is_merged_into_the_template) {
  use_template(full_template);
  auto made = pod();
  EXPECT_EQ(made["metadata"]["labels"]["team"], "blue");
  EXPECT_EQ(made["metadata"]["labels"]["app.kubernetes.io/instance"], "0123456789");
  EXPECT_EQ(made["metadata"]["annotations"]["note"], "7");
  EXPECT_EQ(made["metadata"]["name"], pod_name(plan_, spec_, 7));
  auto& spec = made["spec"];
  EXPECT_EQ(spec["nodeSelector"]["disk"], "ssd");
  EXPECT_EQ(spec["restartPolicy"], "Never");
  ASSERT_EQ(spec["volumes"].size(), 3u); // With that of /tmp.
  EXPECT_EQ(spec["volumes"][0]["emptyDir"]["medium"], "Memory");
  EXPECT_EQ(spec["volumes"][1].size(), 2u); // Only its name and the Secret.
  ASSERT_EQ(spec["containers"].size(), 2u);
  EXPECT_EQ(spec["containers"][0],
            json::parse(R"({"name": "sidecar", "image": "side:1"})"));
  auto& ours = spec["containers"][1];
  EXPECT_EQ(ours["image"], "lab/program:1");
  EXPECT_EQ(ours["resources"]["limits"],
            json::parse(R"({"cpu": 2, "nvidia.com/gpu": 1})"));
  EXPECT_EQ(ours["resources"]["requests"]["cpu"], "1000m");
  EXPECT_EQ(ours["volumeMounts"].size(), 3u);
  EXPECT_EQ(ours["securityContext"]["runAsNonRoot"], true);
  EXPECT_EQ(variable("OMP_NUM_THREADS"), "1");
  EXPECT_EQ(variable("POD_IP")["fieldRef"]["fieldPath"], "status.podIP");
  EXPECT_EQ(template_image(plan_), "lab/template:3");
}

TEST_F(Manifests, pods_learn_what_they_may_use_unless_user_or_template_say_otherwise) {
  spec_.resources.cpu = 3;
  for (auto* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "FIBER_CPUS"})
    EXPECT_EQ(variable(name), "3") << name;
  EXPECT_EQ(variable("CUDA_VISIBLE_DEVICES"), "");
  plan_.environment = {{"MKL_NUM_THREADS", "2"}};
  use_template(R"(
spec:
  containers:
  - name: fiber
    env:
    - {name: OMP_NUM_THREADS, value: "7"}
)");
  EXPECT_EQ(variable("MKL_NUM_THREADS"), "2");
  EXPECT_EQ(variable("OMP_NUM_THREADS"), "7");
  EXPECT_EQ(variable("CUDA_VISIBLE_DEVICES"), "");
}

TEST_F(Manifests, devices_of_resources_or_template_are_not_hidden) {
  use_template(full_template);
  EXPECT_TRUE(variable("CUDA_VISIBLE_DEVICES").is_null());
  use_template("spec: {resourceClaims: [{name: gpu}]}");
  EXPECT_TRUE(variable("CUDA_VISIBLE_DEVICES").is_null());
  plan_.template_pod = json::object();
  spec_.resources.gpu = 1;
  EXPECT_TRUE(variable("CUDA_VISIBLE_DEVICES").is_null());
}

TEST_F(Manifests, the_anchor_is_alone_and_takes_no_device) {
  use_template(full_template);
  plan_.owner =
    owner_reference({{"metadata", {{"name", "p"}, {"uid", "u"}}}}, "v1", "Pod");
  auto job = anchor_body(plan_, spec_);
  EXPECT_EQ(job["metadata"]["ownerReferences"][0]["uid"], "u");
  EXPECT_EQ(job["spec"]["ttlSecondsAfterFinished"], 0);
  auto& spec = job["spec"]["template"]["spec"];
  ASSERT_EQ(spec["containers"].size(), 1u);
  EXPECT_EQ(spec["containers"][0]["name"], "fiber");
  EXPECT_EQ(spec["containers"][0]["resources"]["limits"], json::object());
  EXPECT_EQ(spec["nodeSelector"]["disk"], "ssd");
  auto& about = job["spec"]["template"]["metadata"];
  EXPECT_EQ(about["labels"]["app.kubernetes.io/component"], "anchor");
  EXPECT_FALSE(about.contains("name"));
}

TEST_F(Manifests, the_anchor_asks_meshes_for_no_sidecar) {
  auto about = [&] { return anchor_body(plan_, spec_)["spec"]["template"]["metadata"]; };
  EXPECT_EQ(about()["labels"]["sidecar.istio.io/inject"], "false");
  EXPECT_EQ(about()["annotations"]["sidecar.istio.io/inject"], "false");
  EXPECT_EQ(about()["annotations"]["linkerd.io/inject"], "disabled");
  EXPECT_FALSE(pod()["metadata"]["labels"].contains("sidecar.istio.io/inject"));
  use_template("metadata:\n  labels: {sidecar.istio.io/inject: 'true', tier: a}\n"
               "  annotations: {linkerd.io/inject: enabled}\nspec: {}\n");
  EXPECT_EQ(about()["labels"]["sidecar.istio.io/inject"], "true");
  EXPECT_EQ(about()["annotations"]["sidecar.istio.io/inject"], "false");
  EXPECT_EQ(about()["annotations"]["linkerd.io/inject"], "enabled");
  EXPECT_FALSE(about()["labels"].contains("tier"));
}

TEST_F(Manifests, our_container_is_the_first_if_none_is_named_fiber) {
  use_template("spec:\n  containers:\n  - {name: main, image: a}\n  - {name: side}\n");
  auto all = pod()["spec"]["containers"];
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["name"], "fiber");
  EXPECT_EQ(all[0]["image"], "lab/program:1");
  EXPECT_EQ(all[1]["name"], "side");
  EXPECT_EQ(template_image(plan_), "a");
}

TEST_F(Manifests, a_template_may_be_in_json_or_within_a_pod_template) {
  use_template(R"({"spec": {"hostNetwork": true}})");
  EXPECT_EQ(pod()["spec"]["hostNetwork"], true);
  use_template("template:\n  spec: {hostIPC: True}\n");
  EXPECT_EQ(pod()["spec"]["hostIPC"], true);
  EXPECT_EQ(template_image(plan_), "");
}

TEST_F(Manifests, scalars_follow_the_yaml_core_schema) {
  use_template("spec: {a: 1, b: '1', c: \"true\", d: false, e: ~, f: 1.5, g: x y, h: -3, "
               "i: , j: 1e3, k: 0x10, l: '', m: no, n: \"a\\nb\"}\n");
  EXPECT_EQ(
    plan_.template_pod["spec"],
    json::parse(R"({"a": 1, "b": "1", "c": "true", "d": false, "e": null, "f": 1.5,
                            "g": "x y", "h": -3, "i": null, "j": 1000.0, "k": "0x10",
                            "l": "", "m": "no", "n": "a\nb"})"));
}

TEST_F(Manifests, a_template_of_odd_parts_does_no_harm) {
  for (auto* text :
       {"spec: {containers: 7}", "spec: {containers: []}", "spec: {containers: [7, x]}",
        "spec: {containers: [[]]}", "spec: {containers: [{name: [a]}]}",
        "spec: {containers: {name: fiber}}", "spec: {volumes: {}}",
        "spec: {volumes: [7]}", "{spec: {}, metadata: 7}",
        "{spec: {}, metadata: {labels: 7, annotations: [1]}}"}) {
    use_template(text);
    EXPECT_NO_THROW(pod()) << text;
    EXPECT_NO_THROW(anchor_body(plan_, spec_)) << text;
    EXPECT_NO_THROW(template_image(plan_)) << text;
  }
}

TEST_F(Manifests, a_template_whose_aliases_grow_without_end_is_refused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    auto before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int copy = 1; copy < 10; ++copy)
      bomb.append(", ").append(before);
    bomb += "]\n";
  }
  EXPECT_NE(refusal(bomb + "spec: {a: *a8}\n").find("larger than 2 MiB"),
            std::string::npos);
  // Few nodes, of much text.
  auto text = "a: &a \"" + std::string(100000, 'x') + "\"\nspec: {b: [*a";
  for (int copy = 0; copy < 100; ++copy)
    text += ", *a";
  EXPECT_NE(refusal(text + "]}\n").find("larger than 2 MiB"), std::string::npos);
  EXPECT_NE(refusal("spec: {a: " + std::string(3 << 20, 'x') + "}").find("2 MiB"),
            std::string::npos);
}

TEST_F(Manifests, a_template_may_use_aliases) {
  use_template("a: &a {b: 1}\nspec: {c: *a, d: *a}\n");
  EXPECT_EQ(plan_.template_pod["spec"], json::parse(R"({"c": {"b": 1}, "d": {"b": 1}})"));
}

TEST_F(Manifests, a_template_that_can_not_be_read_is_named_with_its_line) {
  auto file = path("pod.yaml");
  EXPECT_TRUE(refusal("spec:\n  a: [\n").starts_with(file + ":"))
    << refusal("spec:\n  a: [\n");
  EXPECT_TRUE(refusal("a: 1\nb: *none\n").starts_with(file + ":2: "))
    << refusal("a: 1\nb: *none\n");
  for (auto* text : {"", "7", "[1]", "metadata: {}", "spec: 7", "template: 7"})
    EXPECT_NE(refusal(text).find("there is no spec"), std::string::npos) << text;
  EXPECT_NE(refusal("spec: &a\n  x: *a\n").find("nested too deep"), std::string::npos);
  try {
    read_pod_template(path("missing"));
    FAIL() << "it was read";
  } catch (const AccessError& error) {
    EXPECT_NE(std::string(error.what()).find("missing: "), std::string::npos);
  }
}

TEST_F(Manifests, lists_are_merged_by_name_or_replaced) {
  auto both = [](const char* base, const char* over) {
    return merged(json::parse(base), json::parse(over));
  };
  EXPECT_EQ(both(R"({"a": {"b": 1, "c": 2}})", R"({"a": {"b": 3}})"),
            json::parse(R"({"a": {"b": 3, "c": 2}})"));
  EXPECT_EQ(
    both(R"([{"name": "x", "p": 1}, {"name": "y"}])", R"([{"name": "x", "q": 2}])"),
    json::parse(R"([{"name": "x", "p": 1, "q": 2}, {"name": "y"}])"));
  EXPECT_EQ(both("[1, 2]", "[3]"), json::parse("[3]"));
  EXPECT_EQ(both(R"([{"key": "x"}])", R"([{"name": "y"}])"),
            json::parse(R"([{"name": "y"}])"));
  EXPECT_EQ(both(R"({"env": [{"name": "x", "value": "1"}]})",
                 R"({"env": [{"name": "x", "valueFrom": {}}]})"),
            json::parse(R"({"env": [{"name": "x", "valueFrom": {}}]})"));
  EXPECT_EQ(both("7", R"({"a": 1})"), json::parse(R"({"a": 1})"));
}

} // namespace

} // namespace fiber::backends::kubernetes
