// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "fiber/error.hpp"

// Two files, each with a type Failed in an unnamed namespace.

namespace fiber::one_file {
[[noreturn]] void fail();
std::string rethrown(const Failure& failure);
std::string identity();
} // namespace fiber::one_file

namespace fiber::other_file {
[[noreturn]] void fail();
std::string rethrown(const Failure& failure);
std::string identity();
} // namespace fiber::other_file
