// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace fiber {

/// What a session can be told. Each setting comes from the first of: this struct, the
/// environment (FIBER_ and the key in capitals), the section [default] of .fiberconfig in
/// the working directory, its default. docs/configuration.md has valid values.
struct Config {
  /// Where jobs run: "auto" (local), "local", "inline". Default auto.
  std::optional<std::string> backend = {};
  /// Jobs that may be starting at once. Default 64.
  std::optional<std::size_t> workers_start_window = {};
  /// A worker that is silent for so long is replaced. Default 10 s.
  std::optional<std::chrono::milliseconds> heartbeat_timeout = {};
  /// A job that hears nothing from the driver for so long ends itself. Default 60 s; at
  /// least twice heartbeat_timeout.
  std::optional<std::chrono::milliseconds> lease = {};
  /// A job that is not ready after so long has failed to start. Default 60 s.
  std::optional<std::chrono::milliseconds> start_deadline = {};
  /// How jobs talk to the driver: "auto" (a socket pair for local jobs), "tls". Default
  /// auto.
  std::optional<std::string> link = {};
  /// Whether what jobs print is forwarded to the driver's stderr, each line with its
  /// job's name. Default true.
  std::optional<bool> forward_output = {};
  /// "trace", "debug", "info", "warn", "error" or "off". Default warn.
  std::optional<std::string> log_level = {};
  /// Whether local workers are forked by a zygote ("auto") or each started anew
  /// ("never"): see docs/backends.md. Default auto.
  std::optional<std::string> zygote = {};
};

} // namespace fiber
