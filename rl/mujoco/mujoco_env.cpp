// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/mujoco_env.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rl/mujoco/picture.hpp"
#include "rl/mujoco/simulation.hpp"

namespace fiber::rl {
namespace {
namespace own_robot {

mujoco::Model compiled(const MujocoModel& model) {
  if (model.step_limit < 1)
    throw std::invalid_argument(model.name + ": step_limit must be at least 1, not " +
                                std::to_string(model.step_limit));
  if (!(model.start_noise >= 0 && std::isfinite(model.start_noise)))
    throw std::invalid_argument(model.name +
                                ": start_noise must be finite and at least 0");
  if (model.file.empty() == model.xml.empty())
    throw std::invalid_argument(model.name +
                                ": a MujocoModel has either a file or an xml");
  // Each environment has the same model as the one before: meshes take long to compile.
  using Key = std::tuple<std::string, std::filesystem::file_time_type>;
  static std::mutex mutex;
  static std::map<Key, mujoco::Model> models;
  Key key{model.xml, {}};
  if (!model.file.empty() && std::filesystem::exists(model.file))
    key = {std::filesystem::absolute(model.file).string(),
           std::filesystem::last_write_time(model.file)};
  const std::lock_guard lock(mutex);
  if (const auto known = models.find(key); known != models.end())
    return known->second;
  auto compiled = model.file.empty() ? mujoco::compile(model.xml, model.name)
                                     : mujoco::load(model.file);
  return models.emplace(std::move(key), std::move(compiled)).first->second;
}

std::string name_of(const mjModel& model, mjtObj kind, int id) {
  const char* name = mj_id2name(&model, kind, id);
  return name ? name : "";
}

void check_motors(const mujoco::Simulation& simulation, std::size_t motors) {
  const auto& model = simulation.model();
  if (static_cast<std::size_t>(model.nu) != motors)
    throw std::invalid_argument(simulation.name() + " has " + std::to_string(model.nu) +
                                " motors, and its class derives from MujocoEnv<" +
                                std::to_string(motors) + ">");
  for (int i = 0; i < model.nu; ++i)
    if (!model.actuator_ctrllimited[i])
      throw std::invalid_argument(
        simulation.name() + ": motor " + std::to_string(i) + " (" +
        name_of(model, mjOBJ_ACTUATOR, i) +
        R"() needs bounds: ctrllimited="true" ctrlrange="-1 1")");
}

int find(const mujoco::Simulation& simulation, mjtObj kind, int count, const char* what,
         const std::string& name) {
  const auto& model = simulation.model();
  const int id = mj_name2id(&model, kind, name.c_str());
  if (id >= 0)
    return id;
  std::string names;
  for (int i = 0; i < count; ++i)
    if (const auto other = name_of(model, kind, i); !other.empty())
      names.append(names.empty() ? "" : ", ").append(other);
  throw std::invalid_argument(simulation.name() + " has no " + what + " " + name +
                              "; there are " + (names.empty() ? "none" : names));
}

std::array<double, 3> place(const mjtNum* places, int id) {
  const auto* at = places + std::ptrdiff_t{3} * id;
  return {at[0], at[1], at[2]};
}

} // namespace own_robot
} // namespace

struct detail::MujocoTask::Impl {
  Impl(const MujocoModel& plan, std::size_t motors)
    : simulation(own_robot::compiled(plan), plan.name, plan.frame_skip),
      noise(plan.start_noise), step_limit(plan.step_limit),
      places(static_cast<std::size_t>(3 * simulation.model().nbody)) {
    own_robot::check_motors(simulation, motors);
  }

  void require_episode(const char* call) const {
    if (steps < 0)
      throw std::logic_error(simulation.name() + ": " + call +
                             "() before the first reset()");
  }

  int body(const std::string& name) const {
    return own_robot::find(simulation, mjOBJ_BODY, simulation.model().nbody, "body",
                           name);
  }

  /// A joint with one degree of freedom.
  int joint(const std::string& name) const {
    const auto& model = simulation.model();
    const int id = own_robot::find(simulation, mjOBJ_JOINT, model.njnt, "joint", name);
    if (model.jnt_type[id] != mjJNT_HINGE && model.jnt_type[id] != mjJNT_SLIDE)
      throw std::invalid_argument(simulation.name() + ": joint " + name +
                                  " is no hinge or slide: use positions()");
    return id;
  }

  mujoco::Simulation simulation;
  mujoco::View view; ///< Of this episode.
  double noise;
  int step_limit;
  std::vector<double> places; ///< Of the bodies, before the last step.
  int steps = -1;             ///< Of this episode; -1: there is none.
};

detail::MujocoTask::MujocoTask(const MujocoModel& model, std::size_t motors)
  : impl_(std::make_unique<Impl>(model, motors)) {}
detail::MujocoTask::MujocoTask(MujocoTask&&) noexcept = default;
detail::MujocoTask& detail::MujocoTask::operator=(MujocoTask&&) noexcept = default;
detail::MujocoTask::~MujocoTask() = default;

void detail::MujocoTask::reset(std::uint64_t seed) {
  Random random(seed);
  auto& simulation = impl_->simulation;
  simulation.clear();
  std::vector<double> at(positions().begin(), positions().end());
  std::vector<double> speeds(velocities().begin(), velocities().end());
  start(random, at, speeds);
  simulation.set(at, speeds);
  std::copy_n(simulation.data().xpos, impl_->places.size(), impl_->places.begin());
  impl_->view = mujoco::view_of(simulation);
  impl_->steps = 0;
}

Step detail::MujocoTask::act(std::span<const float> action) {
  impl_->require_episode("step");
  auto& simulation = impl_->simulation;
  std::copy_n(simulation.data().xpos, impl_->places.size(), impl_->places.begin());
  simulation.act(action, impl_->steps + 1, false);
  simulation.place_bodies();
  const bool truncated = ++impl_->steps >= impl_->step_limit;
  return {.reward = reward(action), .terminated = terminated(), .truncated = truncated};
}

void detail::MujocoTask::observe(std::span<float> out) const {
  impl_->require_episode("observe");
  look(out);
}

Image detail::MujocoTask::render() const {
  impl_->require_episode("render");
  return mujoco::picture(impl_->simulation, impl_->view);
}

Spaces detail::MujocoTask::spaces() const {
  return mujoco::spaces_of(impl_->simulation.model(), observation_size());
}

std::string detail::MujocoTask::physics() {
  return mujoco::version();
}

bool detail::MujocoTask::terminated() const {
  return false;
}

void detail::MujocoTask::start(Random& random, std::span<double> positions,
                               std::span<double> velocities) const {
  for (const auto values : {positions, velocities})
    for (auto& value : values)
      value += random.uniform(-impl_->noise, impl_->noise);
}

std::size_t detail::MujocoTask::observation_size() const {
  return positions().size() + velocities().size();
}

void detail::MujocoTask::look(std::span<float> out) const {
  std::size_t at = 0;
  for (const auto values : {positions(), velocities()})
    for (const auto value : values)
      out[at++] = static_cast<float>(value);
}

std::span<const double> detail::MujocoTask::positions() const {
  return impl_->simulation.positions();
}

std::span<const double> detail::MujocoTask::velocities() const {
  return impl_->simulation.velocities();
}

double detail::MujocoTask::joint_position(const std::string& joint) const {
  const auto& simulation = impl_->simulation;
  return simulation.data().qpos[simulation.model().jnt_qposadr[impl_->joint(joint)]];
}

double detail::MujocoTask::joint_velocity(const std::string& joint) const {
  const auto& simulation = impl_->simulation;
  return simulation.data().qvel[simulation.model().jnt_dofadr[impl_->joint(joint)]];
}

std::array<double, 3> detail::MujocoTask::body_position(const std::string& body) const {
  return own_robot::place(impl_->simulation.data().xpos, impl_->body(body));
}

std::array<double, 3> detail::MujocoTask::body_velocity(const std::string& body) const {
  const int id = impl_->body(body);
  auto velocity = own_robot::place(impl_->simulation.data().xpos, id);
  const auto before = own_robot::place(impl_->places.data(), id);
  for (std::size_t axis = 0; axis < 3; ++axis)
    velocity[axis] = (velocity[axis] - before[axis]) / dt();
  return velocity;
}

std::array<double, 3> detail::MujocoTask::site_position(const std::string& site) const {
  const auto& simulation = impl_->simulation;
  const int id =
    own_robot::find(simulation, mjOBJ_SITE, simulation.model().nsite, "site", site);
  return own_robot::place(simulation.data().site_xpos, id);
}

std::span<const double> detail::MujocoTask::sensor(const std::string& sensor) const {
  const auto& simulation = impl_->simulation;
  const auto& model = simulation.model();
  const int id =
    own_robot::find(simulation, mjOBJ_SENSOR, model.nsensor, "sensor", sensor);
  return {simulation.data().sensordata + model.sensor_adr[id],
          static_cast<std::size_t>(model.sensor_dim[id])};
}

double detail::MujocoTask::dt() const {
  return impl_->simulation.dt();
}

} // namespace fiber::rl
