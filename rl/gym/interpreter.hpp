// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <filesystem>
#include <string>
#include <utility>

#include <pybind11/embed.h>

#include "fiber/rl/gym.hpp"

// The interpreter that all environments of a process share.

namespace fiber::rl::python {

/// Starts the interpreter if there is none, or throws GymError. One that the program
/// itself has started is used as it is.
void start();

/// Where a virtual environment has its packages. Throws GymError, which names `variable`,
/// if `folder` is none, or one of another version of Python.
std::filesystem::path site_packages(const std::filesystem::path& folder,
                                    const std::string& variable);

/// How to get a virtual environment with `packages`.
std::string advice(const std::string& packages);

/// Holds Python's lock. start() comes first.
class Lock {
public:
  Lock();
  ~Lock() { PyGILState_Release(state_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

private:
  PyGILState_STATE state_;
};

/// The exception as Python prints it.
std::string traceback_of(const pybind11::error_already_set& error);

/// What f() returns. f runs under the lock and returns nothing of Python's. What Python
/// throws becomes a GymError that begins with `where`.
template <std::invocable F>
auto run(const std::string& where, F&& f) {
  Lock lock;
  try {
    return std::forward<F>(f)();
  } catch (const pybind11::error_already_set& error) {
    throw GymError(where + ": " + traceback_of(error));
  } catch (const pybind11::builtin_exception& error) { // pybind11's own, such as a cast.
    throw GymError(where + ": " + error.what());
  }
}

} // namespace fiber::rl::python
