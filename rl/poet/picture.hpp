// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "rl/poet/evaluation.hpp"
#include "rl/poet/state.hpp"

namespace fiber::rl::poet {

/// Draws a strip for each pair into a PNG file, with gnuplot: the terrain, the way of the
/// agent's hull over it, where it is from, and its transfers. `traces` has an episode for
/// each pair. The gnuplot script stays beside the PNG file. Returns false if gnuplot is
/// missing or fails. Throws std::invalid_argument for another number of traces, and
/// std::system_error if the script cannot be written.
bool draw_pairs(const std::filesystem::path& png, const PoetState& state,
                std::span<const Trace> traces, const std::string& title);

} // namespace fiber::rl::poet
