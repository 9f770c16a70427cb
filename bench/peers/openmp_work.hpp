// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A task of the row openmp_8: a loop that OpenMP divides among its threads, some 30 ms
/// on one of them. In a shared library, so that programs in C++ and in Python run the
/// same code.
extern "C" double openmp_work(int task);
