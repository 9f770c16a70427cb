// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// Ways for tasks and tests to tell each other things past the library: files in a folder
// that the test and all of its jobs know.

namespace fiber::e2e {

/// Appends a line to a list. One write, so that no two lines mix and a `kill -9` tears
/// none. Returns its number, from 1: everybody gets another one.
std::size_t note(const std::string& list, std::string_view line);
/// All lines of a list, in order.
std::vector<std::string> notes(const std::string& list);
/// The number in the n-th line. Waits for it; -1 after the deadline.
long noted(const std::string& list, std::size_t n = 0);
/// Blocks until somebody has noted something there, or for the deadline.
void await_note(const std::string& list);
/// Notes this process and blocks until the test notes something in "go".
void note_and_wait(const std::string& list);

/// What is left of a task's bookkeeping after a run: how often each index was noted.
std::vector<std::size_t> runs(const std::string& list, std::size_t tasks);

/// A folder of its own that goes with the test; the environment names it, and the mark.
class Scratch {
public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  /// What marks the processes of this test; see processes.hpp.
  const std::string& mark() const { return mark_; }

private:
  std::filesystem::path folder_;
  std::string mark_;
};

/// What tasks of the tests compute.
inline std::size_t f(std::size_t i) {
  return i * i + 7;
}
/// 0 .. n-1.
std::vector<std::size_t> indices(std::size_t n);
/// f of 0 .. n-1: what an undisturbed run returns.
std::vector<std::size_t> undisturbed(std::size_t n);

} // namespace fiber::e2e
