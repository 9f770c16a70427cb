// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "fiber/callable.hpp"

namespace fiber::observer {

/// Returns a name of what a callable calls, for people: the name of a function or of a
/// function object's type, or "lambda in FUNCTION". Empty if the program was stripped.
/// Looks into the program's symbol table and remembers what it found.
std::string function_name(const AnyCallable& callable);

/// The same from the demangled name of AnyCallable::open(); empty for a plain function,
/// whose name is not in it.
std::string callable_type(const std::string& open_symbol);

/// Returns the type of the objects that `maker` makes, a detail::MakeObject; empty if the
/// program was stripped.
std::string made_type(const void* maker);

} // namespace fiber::observer
