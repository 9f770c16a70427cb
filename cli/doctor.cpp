// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/engines/engine.hpp"
#include "cli/verbs.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli {
namespace {

struct DoctorOptions {
  std::string backend;
  DoctorRequest request;
  double deadline_seconds = 60;
  bool json = false;
};

/// Returns the engines to check: the named one, or all that are detected and the one that
/// the settings choose.
std::vector<const EngineTools*> engines(const std::string& named) {
  if (!named.empty())
    return {&engine_called(named)};
  auto chosen = chosen_backend();
  std::vector<const EngineTools*> all;
  for (auto& engine : engine_tools())
    if (engine.name == chosen || !engine.detect().empty())
      all.push_back(&engine);
  return all;
}

void diagnose(DoctorOptions& options) {
  auto settings = resolve({});
  if (options.request.image.empty())
    options.request.image = settings.image;
  options.request.deadline =
    std::chrono::milliseconds(static_cast<long>(options.deadline_seconds * 1000));
  Report report(options.json);
  for (auto* engine : engines(options.backend))
    engine->diagnose(options.request, report);
  if (options.json)
    std::printf("%s\n", report.json().dump(2).c_str());
  if (report.failed())
    throw CLI::RuntimeError(1);
}

} // namespace

void add_doctor(CLI::App& app) {
  auto* verb = app.add_subcommand(
    "doctor",
    "Check from end to end whether programs can run here, and say what to mend");
  auto options = std::make_shared<DoctorOptions>();
  std::vector<std::string> names;
  for (auto& engine : engine_tools())
    names.push_back(engine.name);
  verb
    ->add_option("backend", options->backend,
                 "The backend to check; default: each one that is detected")
    ->check(CLI::IsMember(names));
  verb
    ->add_option("--image", options->request.image,
                 "The image of the jobs; default: the setting image")
    ->type_name("IMAGE");
  verb
    ->add_option("--program", options->request.program,
                 "A program that the image should have, in this build")
    ->check(CLI::ExistingFile)
    ->type_name("FILE");
  verb
    ->add_option("--deadline", options->deadline_seconds,
                 "The seconds that a job has to dial back")
    ->check(CLI::Range(0.1, 3600.0))
    ->capture_default_str();
  verb->add_flag("--json", options->json, "Print JSON");
  verb->footer("Prints one line for each check: ok or FAIL, the time that it took, and "
               "what to do if it fails. The exit\n"
               "code is 1 if one fails. Settings are those of `fiber config`.\n\n"
               "Examples:\n"
               "  fiber doctor\n"
               "  fiber doctor docker --image pi:1 --program ./pi\n"
               "  FIBER_KUBERNETES_NAMESPACE=team fiber doctor kubernetes --image "
               "registry.example.org/fiber:1");
  verb->callback([options] { diagnose(*options); });
}

} // namespace fiber::cli
