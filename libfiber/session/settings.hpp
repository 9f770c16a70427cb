// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "fiber/config.hpp"

namespace fiber {

/// The dashboard_token with which everybody may look who can connect.
inline constexpr const char* no_token = "none";

/// The settings of a session: a Config merged with environment, file and defaults.
struct Settings {
  std::string backend = "auto";
  std::size_t workers_start_window = 64;
  std::chrono::milliseconds heartbeat_timeout{10000};
  std::chrono::milliseconds lease{60000};
  std::chrono::milliseconds start_deadline{60000};
  std::chrono::milliseconds queue_deadline{0}; ///< 0: none.
  std::string link = "auto";
  std::string advertise_host;       ///< Empty: the backend chooses.
  std::uint16_t advertise_port = 0; ///< 0: any.
  std::string image;
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> backend_values; ///< By the backends' own keys.
  bool hide_gpus = true;
  bool forward_output = true;
  bool ring_plaintext = false;
  std::string log_level = "warn";
  std::string chaos;
  std::string trace;        ///< Path of the trace file; empty: no trace.
  std::string metrics_host; ///< Empty: no metrics endpoint.
  std::uint16_t metrics_port = 0;
  std::string name;                 ///< Of the session; empty: made from program and pid.
  bool observe = true;              ///< Whether observers are answered.
  std::string dashboard_host;       ///< Empty: no page.
  std::uint16_t dashboard_port = 0; ///< 0: any.
  std::string dashboard_token;      ///< Empty: a fresh one; no_token: none is asked for.
  std::string dashboard_certificate; ///< Path of a file in PEM; empty: no TLS.
  std::string dashboard_key;         ///< Path of a file in PEM.
  std::string report;                ///< Path of the file; empty: none is written.
  std::map<std::string, std::string> places; ///< The source of each key that is set.
};

/// Merges the sources. Precedence: code, environment, .fiberconfig in `directory`,
/// defaults. Throws ConfigError; warns of FIBER_* variables that are no settings.
Settings resolve(const Config& code, const std::string& directory = ".");

} // namespace fiber
