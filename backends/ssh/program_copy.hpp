// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/engine/child_process.hpp"
#include "backends/ssh/program_file.hpp"
#include "backends/ssh/ssh_command.hpp"

namespace fiber::backends::ssh {

/// What a host's loader says that a program lacks there.
struct Lack {
  std::set<std::string> libraries; ///< "libcaf_core.so.0.17.6"
  std::string problem;             ///< What no copy of a library can mend.
};
/// Reads the lines of trace_command().
Lack lack_in(const std::vector<std::string>& lines);

/// Copies the program, and the libraries that the host lacks, to a host, over its open
/// connection. Used on the loop's thread only; gives up when it is dropped.
class ProgramCopy : public std::enable_shared_from_this<ProgramCopy> {
public:
  struct Result {
    std::string problem; ///< Empty: it was copied.
    std::size_t libraries = 0;
  };
  using Done = std::function<void(const Result&)>;

  ProgramCopy(Loop& loop, SshCommand command, std::string host,
              const ProgramFile& program, std::string number, Done done);
  void start();

private:
  void run(const std::string& command, const std::string& input_file,
           std::function<void(const std::vector<std::string>& lines)> then);
  void trace();
  void copy_libraries();
  void publish();
  void finish(const std::string& problem);

  Loop& loop_;
  const SshCommand command_;
  const std::string host_, number_;
  const ProgramFile& program_;
  Done done_;
  std::shared_ptr<ChildProcess> child_;
  std::vector<std::string> lacking_; // To be copied next.
  std::set<std::string> copied_;
};

} // namespace fiber::backends::ssh
