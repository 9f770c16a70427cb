// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "backends/output/output.hpp"

namespace fiber::backends::slurm {

/// Passes on what jobs append to their output files.
///
/// Thread safety: any thread may call any member function.
class OutputFiles {
public:
  using Key = Output::Key;

  explicit OutputFiles(Output& output) : output_(output) {}
  /// The file need not exist yet.
  void add(Key key, const std::string& path);
  /// The job was asked to end: what slurmstepd then writes about that is left out.
  void end_is_wanted(Key key);
  /// Reads what is new; less if the reader of our stderr is slow.
  void read(Key key);
  /// Reads what is new of all files.
  void read_all();
  /// Reads the rest. Returns whether there was any output.
  bool finish(Key key);

private:
  struct File {
    std::string path;
    std::int64_t read = 0;
    bool end_is_wanted = false;
  };
  void read(Key key, File& file, bool to_end);

  Output& output_;
  std::mutex mutex_;
  std::map<Key, File> files_;
};

} // namespace fiber::backends::slurm
