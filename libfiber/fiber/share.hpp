// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>

#include "fiber/callable.hpp"
#include "fiber/detail/shared_object.hpp"
#include "fiber/value.hpp"

// Values that are sent once. A handle is small and goes anywhere: bound to a callable, as
// an argument, in a container. The value reaches each job at most once, when it is first
// used there.

namespace fiber {

namespace detail {

/// Makes a shared value of this driver. Throws Closed without a session, Error in a job.
std::shared_ptr<SharedObject> share_value(Bytes packed,
                                          std::shared_ptr<const void> value);
std::shared_ptr<SharedObject> share_array(std::span<const std::byte> bytes);
void pack_shared(Writer& writer, const std::shared_ptr<SharedObject>& object);
std::shared_ptr<SharedObject> unpack_shared(Reader& reader);

} // namespace detail

/// A handle to a value that is sent to each job once, when it is first used there. The
/// value is freed with the last handle in any process.
///
/// Thread safety: as a const T.
template <class T>
class Shared {
public:
  /// See share().
  explicit Shared(std::shared_ptr<detail::SharedObject> object)
    : object_(std::move(object)) {}

  /// The value, valid as long as a handle in this process. In a job the first use fetches
  /// it and blocks; throws Error if it was freed.
  const T& operator*() const { return *get(); }
  /// The same.
  const T* operator->() const { return get(); }

  /// How the handle travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const { detail::pack_shared(writer, object_); }
  static Shared fiber_unpack(Reader& reader) {
    return Shared(detail::unpack_shared(reader));
  }

private:
  const T* get() const {
    return static_cast<const T*>(object_->value([](std::span<const std::byte> bytes) {
      Reader reader(bytes);
      return std::make_shared<const T>(unpack<T>(reader));
    }));
  }

  std::shared_ptr<detail::SharedObject> object_;
};

/// A handle to an array that is sent once to each machine, whose jobs map one copy, in
/// sealed shared memory. Containers have a copy each. The first access in a job fetches
/// the array and blocks; it throws Error if the array was freed. Spans and pointers are
/// valid as long as a handle in this process.
///
/// Thread safety: any thread may call any member function.
template <class T>
class SharedArray {
  static_assert(
    std::is_trivially_copyable_v<T>,
    "fiber: an array can be shared if its elements are trivially copyable; for "
    "others use share(std::vector) and Shared");

public:
  /// See share().
  explicit SharedArray(std::shared_ptr<detail::SharedObject> object)
    : object_(std::move(object)) {}

  /// The elements.
  std::span<const T> span() const {
    auto bytes = object_->bytes();
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// The elements, where a function takes a span.
  operator std::span<const T>() const {
    return span();
  } // NOLINT(google-explicit-constructor)
  /// Element `i`, which must be less than size().
  const T& operator[](std::size_t i) const { return span()[i]; }
  /// The first element.
  const T* data() const { return span().data(); }
  /// The number of elements.
  std::size_t size() const { return span().size(); }
  /// For range-based for loops and algorithms.
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }

  /// How the handle travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const { detail::pack_shared(writer, object_); }
  static SharedArray fiber_unpack(Reader& reader) {
    return SharedArray(detail::unpack_shared(reader));
  }

private:
  std::shared_ptr<detail::SharedObject> object_;
};

/// Returns a handle to a value that is sent to each job once. Packs it once. Call it in
/// the driver: throws Closed without a session, Error in a job, and what packing throws.
template <class T>
Shared<T> share(T value) {
  detail::check_value<T>();
  Bytes packed;
  Writer writer(packed);
  pack(writer, value);
  return Shared<T>(
    detail::share_value(std::move(packed), std::make_shared<const T>(std::move(value))));
}

/// Returns a handle to an array that is sent once. Copies the elements once, which must
/// be trivially copyable. Throws as share(value), and BackendError if there is no shared
/// memory for it.
template <class T, std::size_t extent>
SharedArray<std::remove_cv_t<T>> share(std::span<T, extent> array) {
  return SharedArray<std::remove_cv_t<T>>(detail::share_array(std::as_bytes(array)));
}

} // namespace fiber
