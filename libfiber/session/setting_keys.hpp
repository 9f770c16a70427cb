// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "libfiber/session/settings.hpp"

namespace fiber {

/// A setting: its key in .fiberconfig, a description of its valid values, its default in
/// the form of a value (empty: none, or what the backend finds), and a setter that
/// returns false for an invalid text.
struct Key {
  std::string name;
  std::string valid;
  std::string standard;
  std::function<bool(const std::string& text, Settings& settings)> set;
  bool secret = false; ///< Its value is never shown.
};

/// Returns all settings: those that every build has, then those of its backends.
const std::vector<Key>& setting_keys();
/// Returns the names of all settings, separated by commas.
std::string setting_key_list();
bool is_setting_key(const std::string& name);
/// Returns "FIBER_" and the key in capitals.
std::string variable_of(const Key& key);

} // namespace fiber
