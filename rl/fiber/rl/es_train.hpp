// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fiber::rl {

/// The program es_train: evolution strategies (Salimans et al. 2017, arXiv 1703.03864) on
/// a pool of workers. Its options are those of programs/es_train. It calls fiber::init()
/// and returns main()'s exit code. A program that trains on its own environment
/// looks like this:
///
///   int main(int argc, char** argv) {
///     fiber::rl::register_environment<Mine>("mine");
///     return fiber::rl::run_es_train(argc, argv); // --env mine
///   }
///
/// Link with fiber::es_train.
int run_es_train(int argc, char** argv);

} // namespace fiber::rl
