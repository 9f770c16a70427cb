// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/environment_check.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "fiber/rl/detail/number_text.hpp"
#include "fiber/rl/environments.hpp"

namespace fiber::rl {
namespace {
namespace environment_check {

constexpr int max_steps = 10;
/// Numbers behind the observation that nobody may write.
constexpr std::size_t margin = 4096;
/// A NaN that no computation results in.
constexpr std::uint32_t unwritten = 0x7fe5c3e1;

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument(what);
}

std::string numbers(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " number" : " numbers");
}

bool is_written(float number) {
  return std::bit_cast<std::uint32_t>(number) != unwritten;
}

void check_spaces(const Spaces& spaces) {
  const auto &low = spaces.action_low, &high = spaces.action_high;
  if (spaces.observation_size() == 0)
    refuse("an observation must have at least one number");
  if (!spaces.discrete() && low.empty() && high.empty())
    refuse("there must be at least one discrete action, or bounds of continuous ones");
  spaces.check_actions("the environment");
  spaces.check_parts();
  if (low.size() != high.size())
    refuse("actions have " + std::to_string(low.size()) + " lower and " +
           std::to_string(high.size()) + " upper bounds: there must be as many");
  for (std::size_t i = 0; i < low.size(); ++i)
    if (!(low[i] <= high[i]))
      refuse("component " + std::to_string(i) + " of an action has the lower bound " +
             detail::shown(low[i]) + " and the upper bound " + detail::shown(high[i]) +
             ": the lower one must not be greater");
}

/// Says on stderr where the environment was when a signal such as SIGSEGV ends the
/// process, which nothing can catch. Only for the thread that made it.
class CrashReport {
public:
  explicit CrashReport(const std::string& place) {
    text_ = "the environment crashed in " + place + "\n";
    current_ = &text_;
    struct sigaction action = {};
    action.sa_handler = report;
    action.sa_flags = SA_RESETHAND | SA_NODEFER;
    for (std::size_t i = 0; i < signals.size(); ++i)
      ::sigaction(signals[i], &action, &before_[i]);
  }
  ~CrashReport() {
    current_ = nullptr;
    for (std::size_t i = 0; i < signals.size(); ++i)
      ::sigaction(signals[i], &before_[i], nullptr);
  }
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;

private:
  static constexpr std::array signals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

  static void report(int signal) {
    if (current_ != nullptr) [[maybe_unused]]
      const auto written = ::write(STDERR_FILENO, current_->data(), current_->size());
    ::raise(signal); // The default now: it ends the process.
  }

  static thread_local const std::string* current_;
  std::string text_;
  std::array<struct sigaction, signals.size()> before_ = {};
};

thread_local const std::string* CrashReport::current_ = nullptr;

class Player {
public:
  explicit Player(AnyEnvironment& environment)
    : environment_(environment), spaces_(environment.spaces()),
      memory_(spaces_.observation_size() + margin), mask_(spaces_.mask_size() + margin) {}

  void play() {
    check_spaces(spaces_);
    begin();
    for (bool over = false; !over && step_ < max_steps;) {
      look_at_mask();
      over = act();
    }
    begin(); // An episode may also begin before the last one has ended.
  }

private:
  void begin() {
    step_ = 0;
    calling("reset()", [&] { environment_.reset(1); });
    look();
  }

  bool act() {
    ++step_;
    const auto step = calling("step()", [&] { return environment_.step(action()); });
    if (!std::isfinite(step.reward))
      refuse("the reward of " + where() + " is " + detail::shown(step.reward) +
             ": rewards must be finite");
    look();
    return step.terminated || step.truncated;
  }

  /// Each discrete action that is possible in turn; of continuous ones, the middle.
  std::vector<float> action() const {
    if (spaces_.discrete())
      return choices();
    std::vector<float> middle(spaces_.action_size());
    for (std::size_t i = 0; i < middle.size(); ++i) {
      const auto value = spaces_.action_low[i] / 2 + spaces_.action_high[i] / 2;
      middle[i] = std::isfinite(value) ? value : 0; // There may be no bound.
    }
    return middle;
  }

  std::vector<float> choices() const {
    std::vector<float> action;
    auto possible = mask_.begin();
    for (const int count : spaces_.choices()) {
      auto choice = (step_ - 1) % count;
      while (spaces_.masked && possible[choice] == 0)
        choice = (choice + 1) % count;
      action.push_back(static_cast<float>(choice));
      possible += count;
    }
    return action;
  }

  /// mask() says 0 or 1 of each choice, and leaves one in each component.
  void look_at_mask() {
    const auto size = spaces_.mask_size();
    if (size == 0)
      return;
    constexpr std::uint8_t untouched = 0xc3;
    std::ranges::fill(mask_, untouched);
    const auto mask = std::span(mask_).first(size);
    calling("mask()", [&] { environment_.mask(mask); });
    if (std::ranges::any_of(std::span(mask_).subspan(size),
                            [](auto byte) { return byte != untouched; }))
      refuse("mask() writes more than " + std::to_string(size) +
             " bytes: one for each choice of an action");
    for (std::size_t i = 0; i < size; ++i)
      if (mask[i] > 1)
        refuse("mask() must write 0 or 1 to each of its " + std::to_string(size) +
               " bytes, and byte " + std::to_string(i) + " after " + where() +
               (mask[i] == untouched ? " is not written"
                                     : " is " + std::to_string(int{mask[i]})));
    if (const auto component = impossible_component(spaces_, mask))
      refuse("mask() forbids each choice of component " + std::to_string(*component) +
             " of the action after " + where() + ", which does not end the episode");
  }

  void look() {
    const auto size = spaces_.observation_size();
    std::ranges::fill(memory_, std::bit_cast<float>(unwritten));
    calling("observe()", [&] { environment_.observe(std::span(memory_).first(size)); });
    const auto beyond =
      std::find_if(memory_.rbegin(), memory_.rend() - as_offset(size), is_written);
    if (const auto end = static_cast<std::size_t>(memory_.rend() - beyond); end > size)
      refuse("observe() writes " + numbers(end) + ", but an observation has " +
             numbers(size) +
             ": set observation_size (or observation_shape) to what it writes");
    for (std::size_t i = 0; i < size; ++i)
      check_number(i);
  }

  void check_number(std::size_t i) const {
    const auto size = spaces_.observation_size();
    if (!is_written(memory_[i]))
      refuse("observe() does not write number " + std::to_string(i) +
             " of the observation, which has " + numbers(size) + " (0 to " +
             std::to_string(size - 1) +
             "): set all of them each time, or observation_size to fewer");
    if (!std::isfinite(memory_[i]))
      refuse("number " + std::to_string(i) + " of the observation after " + where() +
             " is " + detail::shown(memory_[i]) + ": observations must be finite");
  }

  std::string where() const {
    return step_ == 0 ? "reset()" : "step " + std::to_string(step_) + " of an episode";
  }

  template <class Call>
  std::invoke_result_t<Call> calling(const char* name, Call call) {
    const auto at =
      step_ == 0 ? "" : " at step " + std::to_string(step_) + " of an episode";
    std::string what = "it is no std::exception";
    try {
      const CrashReport crash_report(name + at);
      return call();
    } catch (const std::exception& error) {
      what = error.what() == nullptr ? "" : error.what();
    } catch (...) {
    }
    throw std::runtime_error(name + std::string(" threw an exception") + at + ": " +
                             what);
  }

  static std::ptrdiff_t as_offset(std::size_t size) {
    return static_cast<std::ptrdiff_t>(size);
  }

  AnyEnvironment& environment_;
  const Spaces spaces_;
  std::vector<float> memory_;
  std::vector<std::uint8_t> mask_;
  int step_ = 0; ///< Steps of the episode; 0: it has just begun.
};

} // namespace environment_check
} // namespace

void check_environment(AnyEnvironment& environment) {
  environment_check::Player(environment).play();
}

void check_environment(const std::string& name) {
  const auto environment = make_environment(name);
  try {
    check_environment(*environment);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("environment " + name + ": " + error.what());
  } catch (const std::exception& error) {
    throw std::runtime_error("environment " + name + ": " + error.what());
  }
}

} // namespace fiber::rl
