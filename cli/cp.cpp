// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/engines/archive.hpp"
#include "cli/engines/engine.hpp"
#include "cli/verbs.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

struct CopyOptions {
  std::string backend, image, source, target;
  std::uint64_t limit = std::uint64_t{10} << 30;
  bool json = false;
};

/// A path in a volume, as given: [BACKEND:]VOLUME:PATH.
struct VolumePath {
  std::string backend, volume, path;
  bool folder = false; ///< It ends in a slash.
};

bool is_engine(const std::string& name) {
  for (auto& engine : engine_tools())
    if (engine.name == name)
      return true;
  return false;
}

/// Returns nothing for a path of this machine: one without a colon before its first
/// slash.
std::optional<VolumePath> volume_path(const std::string& text) {
  auto colon = text.find(':');
  if (colon == text.npos || colon == 0 || text.find('/') < colon)
    return {};
  VolumePath found;
  auto rest = text;
  if (auto first = text.substr(0, colon);
      is_engine(first) && text.find(':', colon + 1) != text.npos) {
    found.backend = first;
    rest = text.substr(colon + 1);
    colon = rest.find(':');
  }
  found.volume = rest.substr(0, colon);
  if (found.volume.empty() || found.volume.find('/') != found.volume.npos)
    throw Error("'" + text +
                "' names no volume: wanted is VOLUME:PATH or BACKEND:VOLUME:PATH");
  found.folder = text.ends_with('/');
  found.path = path_in_volume(rest.substr(colon + 1));
  return found;
}

void copy(const CopyOptions& options) {
  auto from = volume_path(options.source), to = volume_path(options.target);
  if (from.has_value() == to.has_value())
    throw Error(from ? "one of the two must be a path of this machine; copy from one "
                       "volume to another by way of it"
                     : "one of the two must be in a volume, as VOLUME:PATH; for a file "
                       "here with a colon write ./NAME");
  auto& there = from ? *from : *to;
  auto backend = !there.backend.empty()     ? there.backend
                 : !options.backend.empty() ? options.backend
                                            : chosen_backend();
  auto& engine = engine_called(backend);
  if (!engine.copy)
    throw Error("cp can't copy to volumes of " + backend +
                "; those of docker are named by --backend docker, or as in docker:" +
                there.volume + ":" + there.path);
  if (!options.image.empty() && backend != "kubernetes")
    throw Error("--image is for kubernetes; on " + backend + " cp needs no image");
  auto bytes = engine.copy({.to_volume = to.has_value(),
                            .local = from ? options.target : options.source,
                            .volume = there.volume,
                            .path = there.path,
                            .into_folder = there.folder,
                            .limit = options.limit,
                            .image = options.image});
  if (options.json)
    std::printf("%s\n", nlohmann::json{{"backend", backend},
                                       {"volume", there.volume},
                                       {"path", there.path},
                                       {"bytes", bytes}}
                          .dump()
                          .c_str());
}

} // namespace

void add_cp(CLI::App& app) {
  auto* verb = app.add_subcommand("cp", "Copy a file or folder to a volume, or from one");
  auto options = std::make_shared<CopyOptions>();
  verb
    ->add_option("source", options->source,
                 "A path of this machine, or [BACKEND:]VOLUME:PATH")
    ->required();
  verb->add_option("target", options->target, "The other of the two")->required();
  verb->add_option("--backend", options->backend,
                   "The engine that has the volume; default: the setting backend");
  verb->add_option("--image", options->image,
                   "On kubernetes, an image with sh, head, sleep and tar (busybox)");
  verb
    ->add_option("--limit", options->limit,
                 "How large a copy from a volume may be: bytes, or 500M, 20G, 1T")
    ->transform(CLI::AsSizeValue(false))
    ->default_str("10G");
  verb->add_flag("--json", options->json, "Print JSON");
  verb->footer("A folder is copied with all that is in it. If the target is a folder "
               "that is there, the copy lands in it. A copy from a volume has "
               "files, folders and symlinks that stay in it, and a target that is a "
               "symlink is not followed, unless it ends in a slash.\n\n"
               "Examples:\n"
               "  fiber cp policy.bin docker:data:/policies/\n"
               "  fiber cp --backend docker data:/policies policies\n"
               "  fiber cp kubernetes:claim:/policies policies");
  verb->callback([options] { copy(*options); });
}

} // namespace fiber::cli
