// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fiber/process.hpp>

#include "tests/history/recorder.hpp"

namespace fiber::history {

/// Processes that do the same, some of which are killed.
class Crew {
public:
  /// Makes the process of the client with this name.
  using Make = std::function<Process(const std::string& name)>;

  /// `size` clients, named KIND-1, KIND-2, ... With `replace` a new one takes the place
  /// of each that has ended.
  Crew(std::string kind, std::size_t size, bool replace, Make make);

  /// Kills one of them; the history says so before.
  void disturb(Recorder& recorder, std::mt19937& random);
  /// Says in the history which have ended, and replaces them.
  void look(Recorder& recorder);
  /// From now on nobody is replaced.
  void disband() { replace_ = false; }
  /// Blocks until all have ended.
  void join();
  bool all_ended() const { return members_.empty(); }
  bool is_complete() const { return members_.size() == size_; }

private:
  struct Member {
    std::string name;
    Process process;
  };
  void add();

  const std::string kind_;
  const std::size_t size_;
  bool replace_;
  const Make make_;
  std::vector<Member> members_; ///< Without those whose end look() has seen.
  std::size_t made_ = 0;
};

} // namespace fiber::history
