// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything of fiber::rl. Each class also has its own header.

#include "fiber/rl/acrobot.hpp"                 // IWYU pragma: export
#include "fiber/rl/advantages.hpp"              // IWYU pragma: export
#include "fiber/rl/any_vec_env.hpp"             // IWYU pragma: export
#include "fiber/rl/batch.hpp"                   // IWYU pragma: export
#include "fiber/rl/bipedal_walker.hpp"          // IWYU pragma: export
#include "fiber/rl/breakout.hpp"                // IWYU pragma: export
#include "fiber/rl/cartpole.hpp"                // IWYU pragma: export
#include "fiber/rl/checkpoint_file.hpp"         // IWYU pragma: export
#include "fiber/rl/cma_es.hpp"                  // IWYU pragma: export
#include "fiber/rl/distributions.hpp"           // IWYU pragma: export
#include "fiber/rl/environment.hpp"             // IWYU pragma: export
#include "fiber/rl/environment_check.hpp"       // IWYU pragma: export
#include "fiber/rl/environments.hpp"            // IWYU pragma: export
#include "fiber/rl/evaluate.hpp"                // IWYU pragma: export
#include "fiber/rl/event_file.hpp"              // IWYU pragma: export
#include "fiber/rl/evolution.hpp"               // IWYU pragma: export
#include "fiber/rl/evolution_evaluation.hpp"    // IWYU pragma: export
#include "fiber/rl/evolution_training.hpp"      // IWYU pragma: export
#include "fiber/rl/export_policy.hpp"           // IWYU pragma: export
#include "fiber/rl/genetic.hpp"                 // IWYU pragma: export
#include "fiber/rl/gym.hpp"                     // IWYU pragma: export
#include "fiber/rl/image.hpp"                   // IWYU pragma: export
#include "fiber/rl/knights_tour.hpp"            // IWYU pragma: export
#include "fiber/rl/live_line.hpp"               // IWYU pragma: export
#include "fiber/rl/lunar_lander.hpp"            // IWYU pragma: export
#include "fiber/rl/map_elites.hpp"              // IWYU pragma: export
#include "fiber/rl/mountain_car_continuous.hpp" // IWYU pragma: export
#include "fiber/rl/mujoco.hpp"                  // IWYU pragma: export
#include "fiber/rl/mujoco_env.hpp"              // IWYU pragma: export
#include "fiber/rl/normalisation.hpp"           // IWYU pragma: export
#include "fiber/rl/pendulum.hpp"                // IWYU pragma: export
#include "fiber/rl/plot.hpp"                    // IWYU pragma: export
#include "fiber/rl/policy.hpp"                  // IWYU pragma: export
#include "fiber/rl/random.hpp"                  // IWYU pragma: export
#include "fiber/rl/saved_policy.hpp"            // IWYU pragma: export
#include "fiber/rl/terrain.hpp"                 // IWYU pragma: export
#include "fiber/rl/training_log.hpp"            // IWYU pragma: export
#include "fiber/rl/vec_env.hpp"                 // IWYU pragma: export
#include "fiber/rl/wrappers.hpp"                // IWYU pragma: export
