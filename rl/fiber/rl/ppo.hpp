// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fiber::rl {

/// The program ppo: proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347)
/// by PpoTrainer. Its options are those of programs/ppo. It calls fiber::init() and
/// returns main()'s exit code. A program that trains on its own environment looks
/// like this:
///
///   int main(int argc, char** argv) {
///     fiber::rl::register_environment<Mine>("mine");
///     return fiber::rl::run_ppo(argc, argv); // --env mine
///   }
///
/// Link with fiber::ppo, and with fiber::ppo_torch to learn from images.
int run_ppo(int argc, char** argv);

} // namespace fiber::rl
