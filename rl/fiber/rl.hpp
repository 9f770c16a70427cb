// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything of fiber::rl. Each class has its own header, too.

#include "fiber/rl/advantages.hpp"    // IWYU pragma: export
#include "fiber/rl/cartpole.hpp"      // IWYU pragma: export
#include "fiber/rl/environment.hpp"   // IWYU pragma: export
#include "fiber/rl/normalisation.hpp" // IWYU pragma: export
#include "fiber/rl/random.hpp"        // IWYU pragma: export
