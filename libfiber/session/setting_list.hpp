// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace fiber {

/// A setting as text, for people.
struct Setting {
  std::string key, variable;
  std::string value; ///< Empty: none, or what the backend finds.
  std::string place; ///< What set it: "environment FIBER_LEASE", "default".
  std::string valid; ///< Its valid values.
};

/// All settings, and sentences on what is wrong with their places.
struct SettingList {
  std::vector<Setting> settings;
  std::vector<std::string> problems; ///< Errors: resolve() throws the first one.
  std::vector<std::string> unknown;  ///< FIBER_* variables that are no settings.
};

/// Returns what resolve() would use without a Config. Never throws because of a value.
SettingList list_settings(const std::string& directory = ".");

} // namespace fiber
