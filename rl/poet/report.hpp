// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "rl/poet/state.hpp"

namespace fiber::rl::poet {

/// A CSV file with a row for each pair and iteration.
std::string returns_csv(const PoetState& state);

/// A CSV file with a row for each event: environments that come and go, and transfers.
std::string events_csv(const PoetState& state);

/// The pairs as a table of text: the environments, where they are from, and the scores.
std::string pairs_table(const PoetState& state);

/// The transfers as a table of text: the last `most`, and how many there were.
std::string transfers_table(const PoetState& state, std::size_t most = 40);

/// "direct" or "proposal"; empty for none.
std::string name_of(Way way);

} // namespace fiber::rl::poet
