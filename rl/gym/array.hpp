// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <pybind11/pybind11.h>

// Numbers of Python as floats, by the buffer protocol: all that NumPy's arrays and
// array.array have in common. Python's lock is held.

namespace fiber::rl::python {

/// Copies all numbers of `array`, whatever their type and strides, in C order. What is no
/// array of numbers is made one by NumPy. Throws GymError if there are not out.size().
void read_array(pybind11::handle array, std::span<float> out);

/// Writes the numbers of `array`, converted to its type. It is contiguous and has
/// values.size() numbers, else GymError.
void write_array(pybind11::handle array, std::span<const float> values);

} // namespace fiber::rl::python
