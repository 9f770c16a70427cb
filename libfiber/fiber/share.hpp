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

// Values sent once. A handle is small and goes anywhere: bound to a callable, as an
// argument, in a container. What it stands for reaches each job at most once, on first
// use there.

namespace fiber {

namespace detail {

/// Makes a shared value of this driver. Throws Closed without a session, Error in a job.
std::shared_ptr<SharedObject> share_value(Bytes packed,
                                          std::shared_ptr<const void> value);
std::shared_ptr<SharedObject> share_array(std::span<const std::byte> bytes);
void pack_shared(Writer& writer, const std::shared_ptr<SharedObject>& object);
std::shared_ptr<SharedObject> unpack_shared(Reader& reader);

} // namespace detail

/// A handle to a value that is sent to each job once, on first use. Freed with the last
/// handle, wherever that is. Thread-safe as a const T is.
template <class T>
class Shared {
public:
  explicit Shared(std::shared_ptr<detail::SharedObject> object)
    : object_(std::move(object)) {}

  /// The value. In a job the first use fetches it and blocks; throws Error if it is
  /// freed.
  const T& operator*() const { return *get(); }
  const T* operator->() const { return get(); }

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

/// A handle to an array that is sent once: one copy a machine for local jobs (sealed
/// shared memory), elsewhere one a job. Converts to std::span<const T>, valid as long as
/// a handle is.
template <class T>
class SharedArray {
  static_assert(
    std::is_trivially_copyable_v<T>,
    "fiber: an array can be shared if its elements are trivially copyable; for "
    "others use share(std::vector) and Shared");

public:
  explicit SharedArray(std::shared_ptr<detail::SharedObject> object)
    : object_(std::move(object)) {}

  std::span<const T> span() const {
    auto bytes = object_->bytes();
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  operator std::span<const T>() const {
    return span();
  } // NOLINT(google-explicit-constructor)
  const T& operator[](std::size_t i) const { return span()[i]; }
  const T* data() const { return span().data(); }
  std::size_t size() const { return span().size(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }

  void fiber_pack(Writer& writer) const { detail::pack_shared(writer, object_); }
  static SharedArray fiber_unpack(Reader& reader) {
    return SharedArray(detail::unpack_shared(reader));
  }

private:
  std::shared_ptr<detail::SharedObject> object_;
};

/// Shares a value. Throws what packing it throws, Closed without a session.
template <class T>
Shared<T> share(T value) {
  detail::check_value<T>();
  Bytes packed;
  Writer writer(packed);
  pack(writer, value);
  return Shared<T>(
    detail::share_value(std::move(packed), std::make_shared<const T>(std::move(value))));
}

/// Shares an array, copying it once.
template <class T, std::size_t extent>
SharedArray<std::remove_cv_t<T>> share(std::span<T, extent> array) {
  return SharedArray<std::remove_cv_t<T>>(detail::share_array(std::as_bytes(array)));
}

} // namespace fiber
