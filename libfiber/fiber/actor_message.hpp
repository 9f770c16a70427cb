// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <typeinfo>

#include <caf/all.hpp>

#include "fiber/archived_handle.hpp"
#include "fiber/callable.hpp"
#include "fiber/value.hpp"

// What messages between actors of two processes may hold. A part of fiber/actor.hpp.

namespace fiber::detail {

/// A type that messages between processes may hold.
struct MessageType {
  const std::type_info* type;
  void (*pack)(Writer& writer, const void* value);
  void (*append)(Reader& reader, caf::message_builder& message);
};
bool announce_message(MessageType type);

template <class T>
bool announce_message() {
  check_value<T>();
  return announce_message({&typeid(T),
                           [](Writer& writer, const void* value) {
                             pack<T>(writer, *static_cast<const T*>(value));
                           },
                           [](Reader& reader, caf::message_builder& message) {
                             message.append(unpack<T>(reader));
                           }});
}

/// The handle of an actor as bytes: which session, which process, which actor.
void pack_actor(Writer& writer, const caf::strong_actor_ptr& actor);
caf::strong_actor_ptr unpack_actor(Reader& reader);

/// Where an actor lives, for who made it.
struct ActorPlace {
  caf::strong_actor_ptr actor = {};      ///< Where it lives.
  std::shared_ptr<const Held> held = {}; ///< Elsewhere.

  void fiber_pack(Writer& writer) const { pack_actor(writer, actor); }
  static ActorPlace fiber_unpack(Reader& reader);
};

} // namespace fiber::detail

/// Lets messages between processes hold values of a type, which is a value as of
/// fiber/value.hpp: FIBER_MESSAGE(my::Type), once before its first use, outside of all
/// namespaces.
#define FIBER_MESSAGE(...) FIBER_MESSAGE_AT(__COUNTER__, __VA_ARGS__)
#define FIBER_MESSAGE_AT(n, ...) FIBER_MESSAGE_NAMED(n, __VA_ARGS__)
#define FIBER_MESSAGE_NAMED(n, ...)                                                      \
  template <>                                                                            \
  struct caf::allowed_unsafe_message_type<__VA_ARGS__> : std::true_type {};              \
  namespace {                                                                            \
  [[maybe_unused]] const bool fiber_message_##n =                                        \
    fiber::detail::announce_message<__VA_ARGS__>();                                      \
  }

// Actors in what is sent: in arguments, in declared types, anywhere.
namespace boost::serialization {

template <class Archive>
void serialize(Archive& archive, caf::strong_actor_ptr& actor, unsigned) {
  using namespace fiber::detail;
  if constexpr (Archive::is_saving::value)
    save_block(archive, [&](auto& writer) { pack_actor(writer, actor); });
  else
    actor = load_block(archive, [](auto& reader) { return unpack_actor(reader); });
}
template <class Archive, class Handle>
  requires caf::is_actor_handle<Handle>::value
void serialize(Archive& archive, Handle& handle, unsigned) {
  auto actor = caf::actor_cast<caf::strong_actor_ptr>(handle);
  archive& actor;
  handle = caf::actor_cast<Handle>(actor);
}

} // namespace boost::serialization
