// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/backend_choice.hpp"

#include <algorithm>
#include <exception>
#include <optional>

#include "backends/registry.hpp"
#include "base/log.hpp"
#include "libfiber/observer/session_note.hpp"
#include "libfiber/observer/socket_folder.hpp"
#include "libfiber/session/setting_keys.hpp"

namespace fiber::detail {
namespace {

const backends::BackendKind& kind_called(const std::string& name) {
  auto& kinds = backends::backend_kinds();
  return *std::ranges::find(kinds, name, &backends::BackendKind::name);
}

const backends::BackendKind& choose(const std::string& name) {
  if (name != "auto")
    return kind_called(name);
  for (auto& kind : backends::backend_kinds())
    if (auto reason = kind.detect(); !reason.empty()) {
      log().info("backend {}: {}", kind.name, reason);
      return kind;
    }
  log().info("backend local: no cluster was named, and this is no pod");
  return kind_called("local");
}

/// Returns what leads to the session's jobs if its driver is killed; nothing if nobody
/// may look at the session.
std::optional<observer::SessionNote> note_for(const Settings& settings,
                                              const std::string& backend) {
  if (!settings.observe)
    return {};
  auto note =
    observer::own_note(settings.name.empty() ? observer::default_name() : settings.name);
  note.backend = backend;
  for (auto& key : setting_keys())
    if (auto value = settings.backend_values.find(key.name);
        value != settings.backend_values.end())
      note.variables[variable_of(key)] = value->second;
  return note;
}

std::shared_ptr<observer::NoteFile> leave(const observer::SessionNote& note) {
  try {
    auto folder = observer::make_session_folder();
    return std::make_shared<observer::NoteFile>(folder, note);
  } catch (const std::exception& error) {
    log().debug("the command fiber can't clean up after this session: {}", error.what());
    return nullptr;
  }
}

} // namespace

MadeBackend make_backend(const Settings& settings,
                         std::shared_ptr<backends::StatusLines> terminal) {
  auto& kind = choose(settings.backend);
  auto note = note_for(settings, kind.name);
  auto backend = kind.make({.values = settings.backend_values,
                            .image = settings.image,
                            .environment = settings.environment,
                            .hide_gpus = settings.hide_gpus,
                            .forward_output = settings.forward_output,
                            .terminal = std::move(terminal),
                            .lease = settings.lease,
                            .session = note ? note->id : ""});
  auto file = note ? leave(*note) : nullptr;
  // The note outlives the backend: only then nothing is left that it leads to.
  return {
    .backend = {backend.release(), [file](backends::Backend* ended) { delete ended; }},
    .session_id = note ? note->id : ""};
}

} // namespace fiber::detail
