// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "fiber/callable.hpp"
#include "fiber/detail/call_name.hpp"
#include "fiber/detail/packed_item.hpp"
#include "fiber/value.hpp"

namespace fiber {

namespace detail {

class CheckpointCore;

/// A Checkpoint without the types of what is saved.
class CheckpointHandle {
public:
  /// What was saved, and what handles in it stand for.
  struct Saved {
    Payload bytes;
    KeptObjects kept;
  };

  /// A new one whose home is this process; no path: in memory. `of_session`: of the
  /// session that a Ring or a Supervisor made here belongs to, which in a job is its own.
  static CheckpointHandle open(const std::optional<std::string>& path,
                               bool of_session = false);

  /// `value`: what begin() wrote, and then the value.
  void save(PackedItem value) const;
  static void begin(Writer& writer, const std::type_info& type, bool handles);
  std::optional<Saved> load(const std::type_info& type) const;

  bool operator==(const CheckpointHandle& other) const;
  void fiber_pack(Writer& writer) const;
  static CheckpointHandle fiber_unpack(Reader& reader);

private:
  explicit CheckpointHandle(std::shared_ptr<CheckpointCore> core)
    : core_(std::move(core)) {}

  std::shared_ptr<CheckpointCore> core_;
};

} // namespace detail

/// A place for one value that outlives the job that saves it: what a learner must not
/// lose. A handle goes anywhere a value does; what it stands for lives in the process
/// that made it, usually the driver, and ends with its last handle or with that process.
///
/// A save replaces the value before as a whole or not at all, also if who saves is killed
/// meanwhile: then load() returns one or the other.
///
/// Thread safety: any thread of any process may call any member function. All throw
/// Closed when the process that made it has ended, or the session.
class Checkpoint {
public:
  /// A new one in the memory of this process. Throws Closed without a session.
  Checkpoint() : handle_(detail::CheckpointHandle::open(std::nullopt)) {}
  /// The one in that file of this process's machine, which another run of the program may
  /// have saved. Beside it, as `path`.previous, stands the value before, which serves if
  /// the newest is damaged; `path`.saving is written while a save is under way.
  /// Throws ConfigError if `path` is empty, Closed without a session.
  explicit Checkpoint(const std::string& path)
    : handle_(detail::CheckpointHandle::open(path)) {}

  /// Returns when the value is kept: in a file, when it is on the disk. Throws what
  /// packing throws, and Error that names the path and what the system says if the file
  /// can't be written; what was saved before is still there then. So it is if `path` is
  /// something else than a checkpoint, or in use by another process.
  template <class T>
  void save(const T& value) const {
    using V = detail::value_t<T>;
    detail::check_value<V>();
    handle_.save(detail::PackedItem::of([&](Writer& writer) {
      detail::CheckpointHandle::begin(writer, typeid(V), detail::carries_handle<V>);
      if constexpr (std::is_same_v<T, V>)
        pack<V>(writer, value);
      else
        pack<V>(writer, V(value));
    }));
  }

  /// What was saved last; nothing if that never happened. Throws Error that names both
  /// types if it was something else than a `T`, and Error that names the path if there is
  /// a file, but no whole value in it nor before it.
  template <class T>
  std::optional<T> load() const {
    detail::check_value<T>();
    auto saved = handle_.load(typeid(T));
    if (!saved)
      return std::nullopt;
    Reader reader(saved->bytes.bytes());
    return unpack<T>(reader);
  }

  /// Whether both stand for the same one.
  bool operator==(const Checkpoint&) const = default;
  void fiber_pack(Writer& writer) const { handle_.fiber_pack(writer); }
  static Checkpoint fiber_unpack(Reader& reader) {
    return Checkpoint(detail::CheckpointHandle::fiber_unpack(reader));
  }

private:
  explicit Checkpoint(detail::CheckpointHandle handle) : handle_(std::move(handle)) {}

  detail::CheckpointHandle handle_;
};

} // namespace fiber
