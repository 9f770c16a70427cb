// SPDX-License-Identifier: Apache-2.0
#include <grp.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>

#include "backends/backend.hpp"
#include "backends/docker/docker_backend.hpp"
#include "backends/engine/program.hpp"
#include "cli/docker/client.hpp"
#include "cli/docker/docker.hpp"
#include "cli/docker/image_file.hpp"
#include "cli/docker/images.hpp"
#include "cli/engines/image.hpp"
#include "cli/engines/open_files.hpp"
#include "cli/engines/probe.hpp"
#include "fiber/error.hpp"

namespace fiber::cli::docker {
namespace {

constexpr auto engine_name = "docker";

std::string after(const std::string& text, const std::string& words) {
  auto at = text.find(words);
  return at == text.npos ? "" : text.substr(at + words.size());
}

/// Returns the name of the group that owns a file, or its number.
std::string group_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return "docker";
  auto* group = ::getgrgid(status.st_gid);
  return group != nullptr ? group->gr_name : std::to_string(status.st_gid);
}

std::string advice_for_engine(const backends::EngineError& error) {
  auto where = after(error.operation(), "engine at ");
  auto socket = after(where, "unix://");
  if (error.status() == EACCES)
    return "be in the group that owns the socket: sudo usermod -aG " + group_of(socket) +
           " $USER, and log in again; or run as root";
  if (error.status() == ENOENT)
    return "start the engine: sudo systemctl start docker, or for Podman: sudo systemctl "
           "enable --now podman.socket; "
           "if it listens elsewhere, set docker_host (FIBER_DOCKER_HOST) or DOCKER_HOST";
  if (error.detail().find("Engine API") != std::string::npos)
    return "install Docker 19.03, Podman 4, or a later one";
  if (error.detail().find("docker_allow=plaintext") != std::string::npos)
    return "use TLS: set DOCKER_TLS_VERIFY and DOCKER_CERT_PATH; or set "
           "docker_allow=plaintext (FIBER_DOCKER_ALLOW) if nobody else is on that "
           "network";
  if (error.detail().find("DOCKER_CERT_PATH") != std::string::npos)
    return "put ca.pem, cert.pem and key.pem into $DOCKER_CERT_PATH, or unset "
           "DOCKER_TLS_VERIFY";
  return "see whether the engine runs (sudo systemctl status docker; for Podman "
         "podman.socket), and whether docker_host "
         "(FIBER_DOCKER_HOST, DOCKER_HOST) names it";
}

std::string advice_for_session(const std::string& problem) {
  if (problem.find("docker_network") != problem.npos)
    return "correct docker_network (FIBER_DOCKER_NETWORK): host, or a network that "
           "docker network ls names";
  if (problem.find("cannot listen") != problem.npos)
    return "set advertise_address (FIBER_ADVERTISE_ADDRESS) to an address of this "
           "machine that containers can reach";
  if (problem.find("no such file or directory") != problem.npos)
    return "the image lacks the file of its entrypoint: make it again: fiber run --build";
  return {};
}

std::string short_id(const std::string& build) {
  return build.substr(0, 12);
}

/// The checks of one engine, from the connection to a job.
class Diagnosis {
public:
  Diagnosis(const DoctorRequest& request, Report& report)
    : request_(request), report_(report) {}

  void make() {
    check_open_files(engine_name, backends::docker::descriptors_per_job, usual_jobs,
                     report_);
    if (!report_.check(engine_name, "engine", [this] { return connect(); }))
      return;
    if (!request_.image.empty()) {
      if (!report_.check(engine_name, "image", [this] { return find(); }) ||
          !report_.check(engine_name, "program in image", [this] { return compare(); }))
        return;
    }
    if (probed_image_.empty() &&
        !report_.check(engine_name, "own image", [this] { return load_own(); }))
      return;
    Config config;
    config.backend = engine_name;
    config.image = probed_image_;
    config.start_deadline = config.queue_deadline = request_.deadline;
    probe(engine_name, config, report_, advice_for_session);
    if (!own_image_.empty())
      remove_image(*client_, own_image_);
  }

private:
  std::string connect() {
    try {
      client_ = std::make_unique<Client>(configured_host());
    } catch (const backends::EngineError& error) {
      throw Trouble(error.what(), advice_for_engine(error));
    }
    return client_->engine().description();
  }

  std::string find() {
    image_ = find_image(*client_, request_.image);
    if (!image_.there)
      throw Trouble(
        image_.problem,
        "make it: fiber run --backend docker --build --image " + request_.image +
          " -- PROGRAM; or docker load -i ARCHIVE; or correct the name (--image, "
          "FIBER_IMAGE)");
    return request_.image + " is on the engine";
  }

  /// Compares the program in the image with the one that it should have.
  std::string compare() {
    auto mine = build_id_of_file(backends::program_path());
    auto wanted = request_.program.empty() ? mine : build_id_of_file(request_.program);
    auto path = !image_.entrypoint.empty() ? image_.entrypoint.front()
                : request_.program.empty() ? backends::program_path()
                                           : find_program(request_.program);
    auto again = "make the image again from the program that you start: fiber run "
                 "--backend docker --build --image " +
                 request_.image + " -- " +
                 (request_.program.empty() ? "PROGRAM" : request_.program);
    auto bytes = file_of_image(*client_, request_.image, path);
    if (!bytes)
      throw Trouble(request_.image + " has no " + path +
                      (image_.entrypoint.empty() ? ", and no entrypoint"
                                                 : ", which is its entrypoint"),
                    again);
    auto found = build_id_of(*bytes);
    if (found == mine && !found.empty())
      probed_image_ = request_.image;
    if (found.empty())
      return path + " is a script or has no build id: not compared";
    if (request_.program.empty())
      return path + " is build " + short_id(found) +
             "; to compare it with yours, add --program FILE";
    if (found != wanted)
      throw Trouble(path + " in " + request_.image + " is build " + short_id(found) +
                      ", but " + request_.program + " is build " + short_id(wanted),
                    again);
    return path + " is build " + short_id(found) + ", as " + request_.program;
  }

  /// Gives the engine an image of this program for the time of the check.
  std::string load_own() {
    auto name =
      "localhost/fiber-doctor:" + short_id(build_id_of_file(backends::program_path()));
    load_image(*client_, name, make_image(name, backends::program_path()));
    probed_image_ = own_image_ = name;
    return "loaded " + name + " for the checks below";
  }

  const DoctorRequest& request_;
  Report& report_;
  std::unique_ptr<Client> client_;
  ImageNews image_;
  std::string probed_image_, own_image_;
};

} // namespace

void diagnose(const DoctorRequest& request, Report& report) {
  Diagnosis(request, report).make();
}

} // namespace fiber::cli::docker
