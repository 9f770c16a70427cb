// SPDX-License-Identifier: Apache-2.0
#include "fiber/detail/classic_locale.hpp"
#include "fiber/rl/detail/number_text.hpp"
#include "fiber/rl/gym.hpp"

#include <sstream>

#include <dlfcn.h>

#include "rl/gym/array.hpp"
#include "rl/gym/interpreter.hpp"
#include "rl/gym/observation.hpp"

namespace fiber::rl {

namespace py = pybind11;

namespace python {
namespace {

bool is_atari(const std::string& id) {
  return id.starts_with("ALE/");
}

/// Imports a package; one that is not there is an error that says how to get it.
py::module_ import(const char* name, const char* package) {
  try {
    return py::module_::import(name);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ModuleNotFoundError) ||
        !py::str(error.value().attr("name")).equal(py::str(name)))
      throw;
    auto searched = py::str(", ").attr("join")(py::module_::import("sys").attr("path"));
    throw GymError("Python has no package " + std::string(name) + " in " +
                   searched.cast<std::string>() + ". " + advice(package));
  }
}

py::object value_of(const std::string& text) {
  if (text == "true" || text == "false")
    return py::bool_(text == "true");
  try {
    return py::module_::import("ast").attr("literal_eval")(text);
  } catch (const py::error_already_set&) {
    return py::str(text); // No literal of Python: the string itself.
  }
}

std::invalid_argument no_name(const std::string& argument, const std::string& id) {
  return std::invalid_argument("the argument '" + argument + "' of " + id +
                               " has no name: write name=value");
}

py::dict arguments_of(const GymOptions& options) {
  py::dict arguments;
  for (const auto& argument : options.arguments) {
    const auto equals = argument.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw no_name(argument, options.id);
    arguments[py::str(argument.substr(0, equals))] =
      value_of(argument.substr(equals + 1));
  }
  return arguments;
}

/// While it lives, Python's extensions use the symbols of the libraries that they bring
/// along, not those of this program: gymnasium's MuJoCo is another version than ours.
class OwnLibraries {
#ifndef FIBER_SANITIZED // The runtimes of sanitizers refuse such libraries.
public:
  OwnLibraries() { sys_.attr("setdlopenflags")(RTLD_NOW | RTLD_DEEPBIND); }
  ~OwnLibraries() { sys_.attr("setdlopenflags")(before_); }
  OwnLibraries(const OwnLibraries&) = delete;
  OwnLibraries& operator=(const OwnLibraries&) = delete;

private:
  py::object sys_ = py::module_::import("sys"), before_ = sys_.attr("getdlopenflags")();
#endif
};

py::object make(const GymOptions& options) {
  [[maybe_unused]] const OwnLibraries libraries;
  auto gymnasium = import("gymnasium", "gymnasium");
  auto arguments = arguments_of(options);
  if (!is_atari(options.id))
    return gymnasium.attr("make")(options.id, **arguments);
  // Its games are registered by the import.
  auto ale = import("ale_py", "\"gymnasium[atari]\" opencv-python-headless");
  ale.attr("ALEInterface").attr("setLoggerMode")(ale.attr("LoggerMode").attr("Error"));
  if (!arguments.contains("frameskip"))
    arguments["frameskip"] = 1; // The wrapper skips them.
  auto wrappers = py::module_::import("gymnasium.wrappers");
  auto preprocessed = wrappers.attr("AtariPreprocessing")(
    gymnasium.attr("make")(options.id, **arguments),
    py::arg("terminal_on_life_loss") = options.episodic_life,
    py::arg("scale_obs") = true); // To 0..1, as the networks of policies need it.
  return wrappers.attr("FrameStackObservation")(preprocessed, 4);
}

std::string shown(py::handle object) {
  return py::repr(object).cast<std::string>();
}

std::vector<std::size_t> shape_of(py::handle box) {
  std::vector<std::size_t> shape;
  for (auto extent : box.attr("shape"))
    shape.push_back(extent.cast<std::size_t>());
  return shape;
}

long long count_of(py::handle discrete) {
  return discrete.attr("n").cast<long long>();
}

} // namespace

/// The Python objects of an environment; closes it in the end.
struct [[gnu::visibility("hidden")]] Handles {
  py::object environment;
  py::object step;
  py::object action_like;  // An array of the type and shape of an action.
  py::object first_action; // Of a MultiDiscrete space: what its components start with.
  py::object action_masks;

  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    if (!Py_IsInitialized()) { // The program has ended it: there is nothing to close.
      environment.release();
      step.release();
      action_like.release();
      first_action.release();
      action_masks.release();
      return;
    }
    Lock lock;
    step = {};
    action_like = {};
    first_action = {};
    action_masks = {};
    auto last = std::move(environment);
    try {
      if (last)
        last.attr("close")();
    } catch (const py::error_already_set&) {
    }
  }
};

} // namespace python

class [[gnu::visibility("hidden")]] AnyGymEnv::Impl {
public:
  explicit Impl(GymOptions options) : options_(std::move(options)) {
    python::start();
    python::run(named("make"), [this] {
      python_.environment = python::make(options_);
      python_.step = python_.environment.attr("step");
      read_observation_space();
      read_action_space();
      find_mask();
      fires_ = options_.fire_on_reset && python::is_atari(options_.id) && waits_to_fire();
    });
    observation_.resize(spaces_.observation_size());
  }

  const Spaces& spaces() const { return spaces_; }
  std::span<const float> observation() const { return observation_; }

  void reset(std::uint64_t seed) {
    const auto low = static_cast<std::uint32_t>(seed ^ (seed >> 32));
    python::run(named("reset"), [&] {
      py::object result = python_.environment.attr("reset")(py::arg("seed") = low);
      keep_observation(part(result, 2, 0));
      if (fires_)
        keep_observation(part(python_.step(1), 5, 0));
    });
  }

  Step step(std::span<const float> action) {
    check(action);
    return python::run(named("step"), [&] {
      py::object result = python_.step(python_action(action));
      keep_observation(part(result, 5, 0));
      Step step{.reward = part(result, 5, 1).cast<double>(),
                .terminated = py::bool_(part(result, 5, 2)),
                .truncated = py::bool_(part(result, 5, 3))};
      if (options_.clip_rewards)
        step.reward = std::clamp(step.reward, -1.0, 1.0);
      return step;
    });
  }

  void mask(std::span<std::uint8_t> out) const {
    if (!spaces_.masked) {
      std::ranges::fill(out, std::uint8_t{1});
      return;
    }
    python::run(named("action_masks"), [&] {
      py::object mask = python_.action_masks();
      if (py::len(mask) != out.size())
        throw GymError("action_masks() of " + options_.id + " returns " +
                       std::to_string(py::len(mask)) + " values, and actions have " +
                       std::to_string(out.size()) + " choices");
      std::vector<float> possible(out.size());
      python::read_array(mask, possible);
      std::ranges::transform(possible, out.begin(), [](float value) {
        return static_cast<std::uint8_t>(value != 0);
      });
    });
  }

  std::optional<Image> render() {
    return python::run(named("render"), [&]() -> std::optional<Image> {
      py::object mode = py::getattr(python_.environment, "render_mode", py::none());
      if (!mode.equal(py::str("rgb_array")))
        return std::nullopt;
      py::object picture = python_.environment.attr("render")();
      const auto shape = python::shape_of(picture);
      if (shape.size() != 3 || shape[2] != 3)
        throw GymError(options_.id + " renders no picture of height x width x 3 bytes");
      std::vector<float> values(shape[0] * shape[1] * 3);
      python::read_array(picture, values);
      return Image{.width = static_cast<int>(shape[1]),
                   .height = static_cast<int>(shape[0]),
                   .rgb = {values.begin(), values.end()}};
    });
  }

private:
  std::string named(const char* call) const { return options_.id + ", " + call; }

  /// One of the values of a call that returns `count` of them.
  py::object part(py::handle result, py::ssize_t count, py::ssize_t index) const {
    if (!PyTuple_Check(result.ptr()) || PyTuple_GET_SIZE(result.ptr()) != count)
      throw GymError(options_.id + " returns " + python::shown(result) + ", not the " +
                     std::to_string(count) + " values of Gymnasium (observation, " +
                     (count == 2 ? "info" : "reward, terminated, truncated, info") + ")");
    return py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(result.ptr(), index));
  }

  [[noreturn]] void
  refuse(const char* which, py::handle space,
         const char* supported = "Box, Discrete and MultiDiscrete") const {
    throw std::invalid_argument("the " + std::string(which) + " space of " + options_.id +
                                " is " + python::shown(space) + ": only " + supported +
                                " are supported; convert it with a wrapper of "
                                "Gymnasium");
  }

  void read_observation_space() {
    py::object space = python_.environment.attr("observation_space");
    auto reader = python::ObservationReader::of(space);
    if (!reader)
      refuse("observation", space, "Box, Discrete and Dicts of them");
    reader_ = std::move(*reader);
    spaces_.observation_shape = reader_.shape();
    spaces_.observation_parts = reader_.parts();
  }

  void read_action_space() {
    auto kinds = py::module_::import("gymnasium").attr("spaces");
    py::object space = python_.environment.attr("action_space");
    if (py::isinstance(space, kinds.attr("Discrete"))) {
      spaces_.actions = Spaces::checked_actions(python::count_of(space), options_.id);
      first_action_ = space.attr("start").cast<long>();
    } else if (py::isinstance(space, kinds.attr("MultiDiscrete"))) {
      read_components(space);
    } else if (py::isinstance(space, kinds.attr("Box"))) {
      std::size_t size = 1;
      for (auto extent : python::shape_of(space))
        size *= extent;
      if (size == 0)
        refuse("action", space);
      spaces_.action_low.resize(size);
      spaces_.action_high.resize(size);
      python_.action_like = space.attr("low");
      python::read_array(python_.action_like, spaces_.action_low);
      python::read_array(space.attr("high"), spaces_.action_high);
    } else {
      refuse("action", space);
    }
  }

  void read_components(py::handle space) {
    std::size_t size = 1;
    for (auto extent : python::shape_of(space))
      size *= extent;
    if (size == 0)
      refuse("action", space);
    std::vector<float> counts(size);
    python::read_array(space.attr("nvec"), counts);
    for (const float count : counts)
      spaces_.action_counts.push_back(
        Spaces::checked_actions(static_cast<long long>(count), options_.id));
    spaces_.check_actions(options_.id);
    python_.action_like = space.attr("nvec");
    python_.first_action = py::getattr(space, "start", py::int_(0));
  }

  /// The method may be the environment's, or that of one of its wrappers.
  void find_mask() {
    const auto& env = python_.environment;
    if (!py::hasattr(env, "has_wrapper_attr")) { // Not by gymnasium.make.
      python_.action_masks = py::getattr(env, "action_masks", py::none());
    } else if (env.attr("has_wrapper_attr")("action_masks").cast<bool>()) {
      python_.action_masks = env.attr("get_wrapper_attr")("action_masks");
    }
    spaces_.masked = python_.action_masks && !python_.action_masks.is_none();
    spaces_.check_actions(options_.id);
  }

  /// Whether the game starts only when the player fires.
  bool waits_to_fire() const {
    auto meanings = python_.environment.attr("unwrapped").attr("get_action_meanings")();
    return py::len(meanings) > 1 && py::str(meanings[py::int_(1)]).equal(py::str("FIRE"));
  }

  void keep_observation(py::handle observation) {
    reader_.read(observation, observation_, options_.id);
  }

  void check(std::span<const float> action) const {
    if (action.size() != spaces_.action_size())
      throw std::invalid_argument("an action of " + options_.id + " has " +
                                  std::to_string(spaces_.action_size()) +
                                  " numbers, not " + std::to_string(action.size()));
    if (spaces_.actions > 0 &&
        !(action[0] >= 0 && action[0] < static_cast<float>(spaces_.actions)))
      throw std::invalid_argument(options_.id + " has no action " +
                                  rl::detail::shown(action[0]) + "; there are 0 to " +
                                  std::to_string(spaces_.actions - 1));
    if (!spaces_.action_counts.empty())
      spaces_.check_choices(action);
  }

  /// A new object each time: an environment may keep the last action.
  py::object python_action(std::span<const float> action) const {
    if (spaces_.actions > 0)
      return py::int_(first_action_ + static_cast<long>(action[0]));
    py::object array = python_.action_like.attr("copy")();
    python::write_array(array, action);
    return python_.first_action ? array + python_.first_action : array;
  }

  GymOptions options_;
  Spaces spaces_;
  python::ObservationReader reader_;
  std::vector<float> observation_;
  long first_action_ = 0; // Of Discrete spaces, which need not start with 0.
  bool fires_ = false;
  python::Handles python_; // Touched under the lock only.
};

AnyGymEnv::AnyGymEnv(GymOptions options)
  : impl_(std::make_unique<Impl>(std::move(options))) {}
AnyGymEnv::AnyGymEnv(AnyGymEnv&&) noexcept = default;
AnyGymEnv& AnyGymEnv::operator=(AnyGymEnv&&) noexcept = default;
AnyGymEnv::~AnyGymEnv() = default;

Spaces AnyGymEnv::spaces() const {
  return impl_->spaces();
}
void AnyGymEnv::reset(std::uint64_t seed) {
  impl_->reset(seed);
}
Step AnyGymEnv::step(std::span<const float> action) {
  return impl_->step(action);
}
void AnyGymEnv::observe(std::span<float> out) const {
  std::ranges::copy(impl_->observation(), out.begin());
}

void AnyGymEnv::mask(std::span<std::uint8_t> out) const {
  impl_->mask(out);
}

std::optional<Image> AnyGymEnv::render() const {
  return impl_->render();
}

GymOptions gym_options(const std::string& name) {
  const auto question = name.find('?');
  GymOptions options{.id = name.substr(0, question)};
  fiber::detail::Classic<std::istringstream> rest(
    question == std::string::npos ? "" : name.substr(question + 1));
  for (std::string argument; std::getline(rest, argument, '&');) {
    const auto equals = argument.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw python::no_name(argument, options.id);
    const auto key = argument.substr(0, equals), value = argument.substr(equals + 1);
    bool* flag = key == "episodic_life"   ? &options.episodic_life
                 : key == "fire_on_reset" ? &options.fire_on_reset
                 : key == "clip_rewards"  ? &options.clip_rewards
                                          : nullptr;
    if (!flag)
      options.arguments.push_back(argument);
    else if (value == "true" || value == "false")
      *flag = value == "true";
    else
      throw std::invalid_argument("the argument '" + argument + "' of " + options.id +
                                  " is neither true nor false");
  }
  return options;
}

std::unique_ptr<AnyEnvironment> make_gym(const std::string& name) {
  return std::make_unique<AnyGymEnv>(name);
}

} // namespace fiber::rl

// What make_environment finds if a program is linked with fiber::rl_gym. It has a name of
// C so that the linker can be told to take it along: nothing else refers to it.
extern "C" fiber::rl::AnyEnvironment* fiber_rl_make_gym(const char* name);
fiber::rl::AnyEnvironment* fiber_rl_make_gym(const char* name) {
  return fiber::rl::make_gym(name).release();
}
