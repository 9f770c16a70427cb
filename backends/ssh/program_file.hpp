// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "backends/ssh/remote_shell.hpp"

namespace fiber::backends::ssh {

/// The running program's file, as it was when the program started.
class ProgramFile {
public:
  /// Throws EngineError: the program has no build id.
  explicit ProgramFile(const std::string& directory);

  const RemoteProgram& remote() const { return remote_; }
  /// The path to read it from.
  static const char* path() { return "/proc/self/exe"; }
  /// Returns its SHA-256, in hex. Throws EngineError. Thread-safe.
  std::string sha256() const;

private:
  RemoteProgram remote_;
  mutable std::mutex mutex_;
  mutable std::optional<std::string> sha256_;
};

/// Returns the SHA-256 of a file, in hex. Throws EngineError.
std::string sha256_of(const std::string& path);

/// Returns the paths of the libraries that this process has loaded, by their names:
/// "libssl.so.3".
std::map<std::string, std::string> loaded_libraries();

/// This machine, as `uname -m` names it: "x86_64".
std::string machine();

} // namespace fiber::backends::ssh
