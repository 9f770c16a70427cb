// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <chrono>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "backends/kubernetes/manifests.hpp"
#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "backends/kubernetes/security.hpp"
#include "cli/engines/archive.hpp"
#include "cli/engines/interrupts.hpp"
#include "cli/engines/unpacking.hpp"
#include "cli/kubernetes/driver_pod.hpp"
#include "cli/kubernetes/exec.hpp"
#include "cli/kubernetes/kubernetes.hpp"
#include "cli/kubernetes/owned_pod.hpp"
#include "cli/kubernetes/pod_start.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::kubernetes {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr auto usual_image = "busybox";
constexpr auto mount = "/volume";
constexpr auto usual_role = "deploy/kubernetes/rbac.yaml";
constexpr auto component = "copy";
constexpr long longest_life_s = 3600; // If this command can't remove the pod.
constexpr int not_there = 44;         // Exit code of a script below.

// The size says where the input ends, because the connection does not.
constexpr auto unpack = R"(head -c "$1" | tar -x -o -f - -C "$2")";
constexpr auto pack = R"([ -e "$1/$2" ] || [ -L "$1/$2" ] || exit 44
exec tar -c -f - -C "$1" "./$2")";

json helper_pod(const CopyRequest& request, const std::string& name) {
  auto shared = common_template({request.volume + ":" + mount});
  json container{{"name", backends::kubernetes::container_name},
                 {"image", request.image.empty() ? usual_image : request.image},
                 {"imagePullPolicy", "IfNotPresent"},
                 {"command", {"sleep", std::to_string(longest_life_s)}}};
  json spec{{"restartPolicy", "Never"},
            {"activeDeadlineSeconds", longest_life_s},
            {"automountServiceAccountToken", false},
            {"containers", json::array({container})}};
  json about{{"name", name},
             {"labels",
              {{"app.kubernetes.io/name", "fiber"},
               {backends::kubernetes::component_label, component}}}};
  spec = backends::kubernetes::merged(shared["spec"], spec);
  if (resolve({}).backend_values["kubernetes_security"] != "none")
    backends::kubernetes::restrict_pod(spec);
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", backends::kubernetes::merged(shared["metadata"], about)},
          {"spec", spec}};
}

/// A pod that mounts the volume, and the copy of one file or folder there.
class Copy {
public:
  explicit Copy(const CopyRequest& request)
    : request_(request), client_(configured_access()),
      pod_(client_, helper_pod(request, free_name("fiber-cp")),
           "the pod that mounts " + request.volume) {}

  std::size_t make() {
    await_start();
    return request_.to_volume ? upload() : download();
  }

private:
  void await_start() {
    constexpr int look_every_ms = 200;
    PodStart start(resolve({}));
    for (;;) {
      auto told = Client::json_of(client_.ask("GET", pod_.path()), "look at the pod");
      auto state = backends::kubernetes::read_pod(told, 0);
      if (state.exit)
        throw Error("the pod that mounts " + request_.volume +
                    " has ended: " + state.exit->detail +
                    "; its image must have sleep, sh, head and tar (--image)");
      if (state.started)
        return;
      check(state, start.late(state));
      pollfd signals{interrupts_.fd(), POLLIN, 0};
      ::poll(&signals, 1, look_every_ms);
      if (interrupts_.take().number != 0)
        throw Error("stopped by a signal");
    }
  }

  void check(const backends::kubernetes::PodState& state, const char* late) const {
    auto& why = state.waits_for;
    auto& space = client_.api().name_space();
    if (why.find("\"" + request_.volume + "\" not found") != why.npos)
      throw Error("there is no volume " + request_.volume + " in namespace " + space +
                  "; kubectl -n " + space +
                  " get persistentvolumeclaims names those that there are");
    if (state.never || late != nullptr)
      throw Error("the pod that mounts " + request_.volume + " has not started" +
                  (late != nullptr ? " in time (" + std::string(late) + ")" : "") +
                  (why.empty() ? "" : ": " + why) +
                  "; --image names an image that the nodes can get");
  }

  ExecResult run(const char* script, const std::vector<std::string>& arguments,
                 const std::string& input = {}, const TakeOutput& take = {}) {
    std::vector<std::string> command{"sh", "-c", script, "sh"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    try {
      return exec(client_, pod_.path(), interrupts_, command, input, take);
    } catch (const Error& error) {
      std::string words = error.what();
      if (auto at = words.find(usual_role); at != words.npos)
        words.replace(at, std::string(usual_role).size(), "deploy/kubernetes/cp.yaml");
      throw Error("copy by way of a pod: " + words);
    }
  }

  void expect_success(const ExecResult& result, const std::string& verb) const {
    if (result.exit_code == 0)
      return;
    auto words = result.errors.substr(0, result.errors.find('\n'));
    bool denied = words.find("denied") != words.npos;
    throw Error(
      verb + " " + request_.path + " in volume " + request_.volume + ": " +
      (words.empty() ? "exit code " + std::to_string(result.exit_code) : words) +
      (denied ? "; the pod is not root, unless kubernetes_security=none" : ""));
  }

  std::size_t upload() {
    auto name = std::filesystem::path(request_.path.substr(1));
    auto file = std::filesystem::absolute(request_.local).lexically_normal();
    auto archive = [&] { return pack_files(request_.local, name.string()); };
    if (request_.into_folder || request_.path == "/" ||
        run(R"([ -d "$1" ])", {mount + request_.path}).exit_code == 0)
      name /= file.has_filename() ? file.filename() : file.parent_path().filename();
    auto bytes = archive();
    expect_success(run(unpack, {std::to_string(bytes.size()), mount}, bytes), "write");
    return bytes_in(request_.local);
  }

  std::size_t download() {
    auto path = std::filesystem::path(mount + request_.path).lexically_normal();
    if (!path.has_filename()) // The whole volume.
      path = path.parent_path();
    auto name = request_.path == "/" ? request_.volume : path.filename().string();
    Unpacking copy(request_.local, name, request_.limit);
    auto result = run(pack, {path.parent_path().string(), path.filename().string()}, {},
                      [&](std::string_view piece) { return copy.take(piece); });
    if (result.exit_code == not_there)
      throw Error("volume " + request_.volume + " has no " + request_.path);
    expect_success(result, "read");
    return copy.finish();
  }

  const CopyRequest& request_;
  Interrupts interrupts_; // Before the client's thread.
  Client client_;
  OwnedPod pod_;
};

} // namespace

std::size_t copy(const CopyRequest& request) {
  // Before a pod is made for it.
  if (request.to_volume && !std::filesystem::exists(request.local))
    throw Error(request.local + " is not there");
  return Copy(request).make();
}

} // namespace fiber::cli::kubernetes
