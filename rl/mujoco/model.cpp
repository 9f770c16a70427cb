// SPDX-License-Identifier: Apache-2.0
#include "rl/mujoco/model.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <locale>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace fiber::rl::mujoco {
namespace {
namespace compiling {

constexpr const char* virtual_file = "model.xml";

using Owned = std::unique_ptr<mjModel, decltype(&mj_deleteModel)>;

/// A file in memory, under the name virtual_file, for as long as this object lives.
class VirtualFile {
public:
  explicit VirtualFile(std::string_view text) : files_(std::make_unique<mjVFS>()) {
    mj_defaultVFS(files_.get());
#if mjVERSION_HEADER >= 300
    const int failed = mj_addBufferVFS(files_.get(), virtual_file, text.data(),
                                       static_cast<int>(text.size()));
#else
    const int failed =
      mj_makeEmptyFileVFS(files_.get(), virtual_file, static_cast<int>(text.size()));
    if (failed == 0)
      std::memcpy(files_->filedata[0], text.data(), text.size());
#endif
    if (failed != 0)
      throw std::runtime_error("MuJoCo takes no model of " + std::to_string(text.size()) +
                               " bytes");
  }
  VirtualFile(const VirtualFile&) = delete;
  VirtualFile& operator=(const VirtualFile&) = delete;
  ~VirtualFile() { mj_deleteVFS(files_.get()); }

  const mjVFS* get() const { return files_.get(); }

private:
  std::unique_ptr<mjVFS> files_; // In old versions 2 MB, too large for a stack.
};

#if mjVERSION_HEADER < 300
class ClassicLocale {
public:
  ClassicLocale() = default;
  ~ClassicLocale() { std::locale::global(before_); }
  ClassicLocale(const ClassicLocale&) = delete;
  ClassicLocale& operator=(const ClassicLocale&) = delete;

private:
  // A locale without a name: one that has a name would change that of C functions as
  // well.
  std::locale before_ =
    std::locale::global(std::locale(std::locale::classic(), new std::numpunct<char>));
};
#endif

Owned parse(const char* file, const mjVFS* files, const std::string& name) {
  take_errors();
#if mjVERSION_HEADER < 300 // Reads numbers as the global locale writes them.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const ClassicLocale classic;
#endif
  std::array<char, 1000> error = {};
  Owned model(mj_loadXML(file, files, error.data(), static_cast<int>(error.size())),
              &mj_deleteModel);
  if (!model) {
    std::string words = error.data();
    std::ranges::replace(words, '\n', ' ');
    throw std::invalid_argument(name + ": MuJoCo cannot compile this model: " + words);
  }
  return model;
}

Owned parse_text(std::string_view xml, const std::string& name) {
  if (xml.empty())
    throw std::invalid_argument(name + ": the model is empty");
  const VirtualFile file(xml);
  return parse(virtual_file, file.get(), name);
}

Model shared(Owned model) {
  return Model(model.release(), [](const mjModel* old) {
    mj_deleteModel(const_cast<mjModel*>(old)); // NOLINT: it was made so.
  });
}

#if mjVERSION_HEADER < 230
/// The contacts that two geoms can have at most; 0 if they never collide, -1: not known.
int max_contacts(const mjModel& model, int one, int other) {
  const int body = model.geom_bodyid[one], other_body = model.geom_bodyid[other];
  const auto meets = [&](int a, int b) {
    return (model.geom_contype[a] & model.geom_conaffinity[b]) != 0;
  };
  if (body == other_body || !(meets(one, other) || meets(other, one)))
    return 0;
  for (const int geom : {one, other})
    if (model.geom_type[geom] != mjGEOM_PLANE && model.geom_type[geom] != mjGEOM_SPHERE &&
        model.geom_type[geom] != mjGEOM_CAPSULE)
      return -1;
  return 2;
}

/// Old versions give each mjData room for 500 rows of constraints, which a reset fills
/// with zeros: in the time of ten steps of InvertedPendulum. Leaves room for the rows
/// that there can be. Does nothing for a model with other constraints than limits and
/// contacts.
void leave_less_room(mjModel& model) {
  if (model.neq > 0 || model.opt.cone != mjCONE_PYRAMIDAL)
    return;
  int contacts = 0, rows = 0;
  for (int one = 0; one < model.ngeom; ++one)
    for (int other = one + 1; other < model.ngeom; ++other) {
      const int most = max_contacts(model, one, other);
      if (most < 0)
        return;
      const int dimension = std::max(model.geom_condim[one], model.geom_condim[other]);
      contacts += most;
      rows += most * std::max(1, 2 * (dimension - 1));
    }
  for (int dof = 0; dof < model.nv; ++dof)
    rows += model.dof_frictionloss[dof] > 0 ? 1 : 0;
  rows += 2 * (model.njnt + model.ntendon) + model.ntendon;
  model.nconmax = std::min(model.nconmax, std::max(contacts, 1));
  model.njmax = std::min(model.njmax, rows);
}
#endif

void raise(const char* words) {
  throw std::runtime_error(std::string("MuJoCo: ") + words);
}

} // namespace compiling
} // namespace

void take_errors() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (mj_version() != mjVERSION_HEADER)
      throw std::runtime_error("this program was built for version " +
                               std::to_string(mjVERSION_HEADER) + " of MuJoCo, and " +
                               version() + " is loaded: build it again");
    if (!mju_user_error)
      mju_user_error = compiling::raise;
    if (!mju_user_warning)
      mju_user_warning = [](const char*) {}; // mjData counts them.
  });
}

std::string version() {
  return std::string("MuJoCo ") + mj_versionString();
}

Model compile(std::string_view xml, const std::string& name) {
  return compiling::shared(compiling::parse_text(xml, name));
}

Model load(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file))
    throw std::invalid_argument("there is no model " + file.string());
  return compiling::shared(compiling::parse(file.c_str(), nullptr, file.string()));
}

Model built_in(const std::string& name, const std::string& variant,
               const std::function<void(mjModel&)>& change) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, Model> models;
  const std::lock_guard lock(mutex);
  auto& model = models[{name, variant}];
  if (!model) {
    auto fresh = compiling::parse_text(text_of(name), name);
    if (change)
      change(*fresh);
#if mjVERSION_HEADER < 230
    compiling::leave_less_room(*fresh);
#endif
    model = compiling::shared(std::move(fresh));
  }
  return model;
}

} // namespace fiber::rl::mujoco
