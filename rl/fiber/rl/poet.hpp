// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fiber::rl {

/// The program poet: the paired open-ended trailblazer (Wang, Lehman, Clune and Stanley
/// 2019, arXiv 1901.01753) on the terrains of BipedalWalker, on a pool of workers.
/// docs/rl/poet.md describes it. It calls fiber::init() and returns main()'s exit code:
/// 0 at the end of the run, 2 after an error. SIGINT and SIGTERM save a checkpoint before
/// they end the process.
///
/// Link with fiber::poet, which is there if Fiber was built with Box2D.
int run_poet(int argc, char** argv);

} // namespace fiber::rl
