// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace fiber::cli {

/// How a command ended, and what it wrote.
struct Outcome {
  int code = 0; ///< 128 + N for signal N.
  std::string out, err;
};

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

/// A running `fiber`, in a folder of its own.
class Command {
public:
  /// Starts it. No FIBER_* variable is passed on but those in `variables`. `as_nobody`:
  /// without any privilege.
  explicit Command(const Words& arguments, const Variables& variables = {},
                   bool as_nobody = false);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Returns its folder.
  const std::filesystem::path& folder() const { return folder_; }
  /// Waits until its output has a text. Returns whether it came in time.
  bool says(const std::string& text);
  void signal(int number) const;
  /// Waits for its end.
  Outcome wait();

private:
  std::string output(const char* name) const;

  std::filesystem::path folder_;
  pid_t child_ = 0;
};

/// Runs `fiber` and waits for its end.
Outcome fiber_command(const Words& arguments, const Variables& variables = {});

/// Expects that `fiber doctor --json` failed, and that its last check is the failed one:
/// its name, and parts of its detail and of its advice.
void expect_last_trouble(const Outcome& outcome, const std::string& name,
                         const std::string& problem, const std::string& advice);

/// Runs a shell command. Returns its exit code and output.
Outcome shell(const std::string& command, const Variables& variables = {});

/// A folder for one test.
class TestFolder {
public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;

private:
  std::filesystem::path folder_;
};

} // namespace fiber::cli
