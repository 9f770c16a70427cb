// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fiber/process.hpp>

#include "tests/history/recorder.hpp"

namespace fiber::history {

/// Processes that do the same, some of which are killed or stopped for a while.
class Crew {
public:
  /// Makes the process of the client with this name.
  using Make = std::function<Process(const std::string& name)>;

  /// `size` clients, named KIND-1, KIND-2, ... With `replace` a new one takes the place
  /// of each that has ended.
  Crew(std::string kind, std::size_t size, bool replace, Make make);

  /// Kills one of them, or stops it for a while; the history says so before.
  void disturb(Recorder& recorder, std::mt19937& random);
  /// Lets those go on that were stopped long enough, and replaces those that have ended.
  void look();
  /// Lets all go on and blocks until they have ended.
  void join();
  bool all_ended() const;

private:
  struct Member {
    std::string name;
    Process process;
    int stopped_for = 0; ///< Looks that it stays stopped.
  };
  void add();

  const std::string kind_;
  const bool replace_;
  const Make make_;
  std::vector<Member> members_;
  std::size_t made_ = 0;
};

} // namespace fiber::history
