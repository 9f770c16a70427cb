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
  /// The saved value, and what handles in it refer to.
  struct Saved {
    Payload bytes;
    KeptObjects kept;
  };

  /// A new one whose home is this process; without a path in memory. `of_session`: in the
  /// session that a Ring or a Supervisor made here belongs to, which in a job is the
  /// job's own.
  static CheckpointHandle open(const std::optional<std::string>& path,
                               bool of_session = false);

  /// `value` is what begin() wrote, followed by the value.
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

/// A place for one value that outlives the job that saves it: for what a learner must not
/// lose. It lives in the process that made it, its home, usually the driver, and ends
/// with its last handle or with that process. A handle to it goes anywhere a value does.
///
/// A save replaces the previous value as a whole or not at all. If the process is killed
/// while it saves, load() returns either the previous value or the new one.
///
/// Thread safety: any thread of any process may call any member function. All throw
/// Closed when the home or the session has ended.
class Checkpoint {
public:
  /// A new one, in the memory of this process. Throws Closed without a session.
  Checkpoint() : handle_(detail::CheckpointHandle::open(std::nullopt)) {}
  /// The one in the file `path` on this process's machine, which another run of the
  /// program may have saved. The previous value is kept in `path`.previous, and is used
  /// if the newest is damaged; `path`.saving exists while a save is in progress. Throws
  /// ConfigError if `path` is empty, Closed without a session.
  explicit Checkpoint(const std::string& path)
    : handle_(detail::CheckpointHandle::open(path)) {}

  /// Saves a value. Blocks until it is kept: with a file, until it is on the disk. Throws
  /// what packing throws; and Error, which names the path and the system's error, if the
  /// file can't be written, is not a checkpoint, or is in use by another process. The
  /// previous value remains then.
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

  /// The value that was saved last; nothing if there is none. Blocks for a round trip to
  /// the home. Throws Error, which names both types, if the value is no `T`; and Error,
  /// which names the path, if there is a file but neither it nor the previous one holds a
  /// whole value.
  template <class T>
  std::optional<T> load() const {
    detail::check_value<T>();
    auto saved = handle_.load(typeid(T));
    if (!saved)
      return std::nullopt;
    Reader reader(saved->bytes.bytes());
    return unpack<T>(reader);
  }

  /// Whether both are handles to the same one.
  bool operator==(const Checkpoint&) const = default;
  /// How the handle travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const { handle_.fiber_pack(writer); }
  static Checkpoint fiber_unpack(Reader& reader) {
    return Checkpoint(detail::CheckpointHandle::fiber_unpack(reader));
  }

private:
  explicit Checkpoint(detail::CheckpointHandle handle) : handle_(std::move(handle)) {}

  detail::CheckpointHandle handle_;
};

} // namespace fiber
