// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>

#include <nlohmann/json.hpp>

#include "libfiber/observer/session_view.hpp"

namespace fiber::dashboard {

/// For pools that are busy.
constexpr std::chrono::milliseconds picture_patience{200};
constexpr std::chrono::milliseconds shortest_interval{250}, longest_interval{5000};
constexpr int share = 40; ///< At most this part of one core goes into pictures.

/// What the calling thread has used.
inline std::chrono::nanoseconds own_cpu() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// Says when the next picture is due: after `interval` or more, so that pictures take at
/// most 1/`share` of a core.
class Pace {
public:
  std::chrono::steady_clock::time_point next() const { return next_; }
  std::chrono::milliseconds pause() const { return pause_; }
  /// A picture was made. `begin`: own_cpu() before that.
  void made(std::chrono::nanoseconds begin) {
    auto cost =
      std::chrono::duration_cast<std::chrono::milliseconds>(share * (own_cpu() - begin));
    pause_ = std::clamp(cost, shortest_interval, longest_interval);
    next_ = std::chrono::steady_clock::now() + pause_;
  }

private:
  std::chrono::milliseconds pause_ = shortest_interval;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

inline std::string text_of(const nlohmann::json& picture) {
  return picture.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Pictures for those who ask for one at a time, however often they ask.
class Snapshots {
public:
  explicit Snapshots(observer::SessionView& view) : view_(view) {}

  std::string text() {
    if (!last_.empty() && std::chrono::steady_clock::now() < pace_.next())
      return last_;
    const auto begin = own_cpu();
    last_ = text_of(view_.picture(picture_patience, 0));
    pace_.made(begin);
    return last_;
  }

private:
  observer::SessionView& view_;
  Pace pace_;
  std::string last_;
};

} // namespace fiber::dashboard
