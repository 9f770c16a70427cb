// SPDX-License-Identifier: Apache-2.0
// The promise: all pods of a session have the image that its name meant first.
#include "backends/kubernetes/images.hpp"

#include "tests/backends/kubernetes/scripted_kubernetes.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

const std::string digest = "@sha256:" + std::string(64, 'a');

json pod_with(const std::string& name, const std::string& id) {
  return {{"spec", {{"containers", {{{"name", "fiber"}, {"image", name}}}}}},
          {"status", {{"containerStatuses", {{{"name", "fiber"}, {"imageID", id}}}}}}};
}

TEST(ImageByDigest, is_of_the_repository_that_the_pod_names) {
  const std::vector<std::pair<std::string, std::string>> same{
    {"lab/program:1", "docker.io/lab/program"},
    {"program", "docker.io/library/program"},
    {"localhost:5000/program", "localhost:5000/program"},
    {"registry.example.org/lab/program:1", "registry.example.org/lab/program"}};
  for (auto& [name, repository] : same) {
    EXPECT_EQ(image_by_digest(pod_with(name, repository + digest), "fiber"),
              repository + digest);
    auto told = pod_with(name, "docker-pullable://" + repository + digest);
    EXPECT_EQ(image_by_digest(told, "fiber"), repository + digest);
  }
}

TEST(ImageByDigest, is_not_known_of_an_image_that_nobody_could_pull) {
  for (const auto& id : std::vector<std::string>{
         "", digest.substr(1), "docker://" + digest.substr(1),
         "docker.io/library/import-2026-01-01" + digest, "docker.io/lab/program:1",
         "lab.example.org/lab/program" + digest})
    EXPECT_EQ(image_by_digest(pod_with("lab/program:1", id), "fiber"), "") << id;
  EXPECT_EQ(image_by_digest(json::object(), "fiber"), "");
  EXPECT_EQ(image_by_digest({{"spec", {{"containers", 7}}}, {"status", "x"}}, "fiber"),
            "");
}

class ImagesOfPods : public ScriptedKubernetes {
protected:
  /// Creates a job whose pod runs with this image, as its node reports it. Returns the
  /// image that was asked for.
  std::string run_with(const std::string& job, const std::string& id) {
    api_.plays_kubelet = false;
    create(job);
    auto pod = api_.pod_of(job);
    api_.change(pod, {{"status",
                       {{"phase", "Running"},
                        {"containerStatuses",
                         {{{"name", "fiber"},
                           {"imageID", id},
                           {"state", {{"running", json::object()}}}}}}}}});
    EXPECT_EQ(test_->events.started(job), 0);
    api_.plays_kubelet = true;
    return api_.object("pods", pod)["spec"]["containers"][0]["image"];
  }
};

TEST_F(ImagesOfPods, stay_the_same_also_if_the_tag_moves) {
  start();
  EXPECT_EQ(run_with("one", "docker.io/lab/program" + digest), "lab/program:1");
  const auto moved = "@sha256:" + std::string(64, 'b');
  EXPECT_EQ(run_with("two", "docker.io/lab/program" + moved),
            "docker.io/lab/program" + digest);
  EXPECT_EQ(run_with("three", ""), "docker.io/lab/program" + digest);
}

TEST_F(ImagesOfPods, are_called_by_their_tag_if_they_were_imported) {
  start();
  EXPECT_EQ(run_with("one", digest.substr(1)), "lab/program:1");
  EXPECT_EQ(run_with("two", ""), "lab/program:1");
}

} // namespace

} // namespace fiber::backends::kubernetes
