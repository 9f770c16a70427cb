// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <mujoco/mujoco.h>

namespace fiber::rl::mujoco {

/// A compiled model. Simulations share it, and none changes it.
using Model = std::shared_ptr<const mjModel>;

/// Compiles MJCF or URDF. Throws std::invalid_argument, which begins with `name` and has
/// MuJoCo's words, with the line.
Model compile(std::string_view xml, const std::string& name);

/// The same for a file. Other files that it names are looked for in its folder.
Model load(const std::filesystem::path& file);

/// One of ours, which is compiled once per process. `change`, if any, is applied to the
/// new model, which is then kept by the name and `variant`.
Model built_in(const std::string& name, const std::string& variant = {},
               const std::function<void(mjModel&)>& change = {});

/// The XML of one of ours; empty if there is none of this name.
std::string_view text_of(std::string_view name);

/// "MuJoCo 2.2.2": the library that this process has loaded.
std::string version();

/// Lets MuJoCo's errors throw std::runtime_error instead of ending the process, and keeps
/// MuJoCo from writing its warnings into a file of the current folder. A handler that the
/// program has set before is left alone.
void take_errors();

} // namespace fiber::rl::mujoco
