// SPDX-License-Identifier: Apache-2.0
#include "rl/gym/array.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "fiber/rl/gym.hpp"

namespace fiber::rl::python {

namespace py = pybind11;

namespace {

/// The memory of an array, for as long as this lives.
class Buffer {
public:
  Buffer(py::handle array, int flags) {
    if (PyObject_GetBuffer(array.ptr(), &view_, flags) != 0)
      throw py::error_already_set();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const Py_buffer& view() const { return view_; }
  std::size_t count() const {
    return static_cast<std::size_t>(view_.len / view_.itemsize);
  }
  /// The letter of the struct module for its numbers; 0 for none that this machine has.
  char type() const {
    std::string format = view_.format ? view_.format : "B";
    if (format.size() == 2 && std::string("@=<").find(format[0]) != std::string::npos)
      format.erase(0, 1);
    return format.size() == 1 ? format[0] : '\0';
  }

private:
  Py_buffer view_;
};

/// Calls f with a value of the C++ type that the letter stands for; false: there is none.
template <class F>
bool with_type(char type, F&& f) {
  switch (type) {
  case 'f':
    f(float{});
    return true;
  case 'd':
    f(double{});
    return true;
  case '?':
    f(bool{});
    return true;
  case 'b':
    f(static_cast<signed char>(0));
    return true;
  case 'B':
    f(static_cast<unsigned char>(0));
    return true;
  case 'h':
    f(short{});
    return true;
  case 'H':
    f(static_cast<unsigned short>(0));
    return true;
  case 'i':
    f(int{});
    return true;
  case 'I':
    f(0U);
    return true;
  case 'l':
    f(0L);
    return true;
  case 'L':
    f(0UL);
    return true;
  case 'q':
    f(0LL);
    return true;
  case 'Q':
    f(0ULL);
    return true;
  default:
    return false;
  }
}

void expect(std::size_t count, std::size_t expected) {
  if (count != expected)
    throw GymError("an array of " + std::to_string(count) + " numbers, where " +
                   std::to_string(expected) + " are expected");
}

/// Numbers that an integer cannot hold become the nearest one; NaN becomes 0.
template <class T>
T converted(float value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (std::isnan(value))
      return 0;
    if (value <= static_cast<float>(std::numeric_limits<T>::min()))
      return std::numeric_limits<T>::min();
    if (value >= static_cast<float>(std::numeric_limits<T>::max()))
      return std::numeric_limits<T>::max();
  }
  return static_cast<T>(value);
}

bool read_buffer(py::handle array, std::span<float> out) {
  Buffer buffer(array, PyBUF_RECORDS_RO);
  const auto& view = buffer.view();
  if (!with_type(buffer.type(), [](auto) {}))
    return false;
  expect(buffer.count(), out.size());
  std::vector<std::byte> copy;
  const void* numbers = view.buf;
  if (!PyBuffer_IsContiguous(&view, 'C')) {
    copy.resize(static_cast<std::size_t>(view.len));
    if (PyBuffer_ToContiguous(copy.data(), &view, view.len, 'C') != 0)
      throw py::error_already_set();
    numbers = copy.data();
  }
  with_type(buffer.type(), [&]<class T>(T) {
    const auto* from = static_cast<const T*>(numbers);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(from[i]);
  });
  return true;
}

} // namespace

void read_array(py::handle array, std::span<float> out) {
  if (PyObject_CheckBuffer(array.ptr()) && read_buffer(array, out))
    return;
  // A list, a number, float16.
  auto array_of_numpy = py::module_::import("numpy").attr("asarray")(array, "float32");
  if (!read_buffer(array_of_numpy, out))
    throw GymError("no numbers: " + py::repr(array).cast<std::string>());
}

void write_array(py::handle array, std::span<const float> values) {
  Buffer buffer(array, PyBUF_CONTIG | PyBUF_FORMAT);
  expect(buffer.count(), values.size());
  const bool known = with_type(buffer.type(), [&]<class T>(T) {
    auto* to = static_cast<T*>(buffer.view().buf);
    for (std::size_t i = 0; i < values.size(); ++i)
      to[i] = converted<T>(values[i]);
  });
  if (!known)
    throw GymError(std::string("actions of the type '") +
                   (buffer.view().format ? buffer.view().format : "") +
                   "' of Python's struct module, which are not supported");
}

} // namespace fiber::rl::python
