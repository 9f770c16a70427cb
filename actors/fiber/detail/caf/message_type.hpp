// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/config.hpp>

#if CAF_VERSION >= 1800

#include <new>
#include <string>

#include <caf/detail/meta_object.hpp>
#include <caf/detail/padded_size.hpp>
#include <caf/init_global_meta_objects.hpp>

#include "fiber/detail/caf/type_ids.hpp"

namespace fiber::detail {

/// Tells CAF how to copy and destroy values of a type, which has a type id. Nothing here
/// lets CAF write or read them. Only while the program starts, or loads a library.
template <class T>
bool register_message_type() {
  static const bool core = (caf::core::init_global_meta_objects(), true);
  const caf::detail::meta_object type{
    .type_name = caf::type_name_v<T>,
    .padded_size = caf::detail::padded_size_v<T>,
    .destroy = [](void* value) noexcept { static_cast<T*>(value)->~T(); },
    .default_construct =
      [](void* place) {
        if constexpr (std::is_default_constructible_v<T>)
          new (place) T();
      },
    .copy_construct =
      [](void* place, const void* value) {
        new (place) T(*static_cast<const T*>(value));
      },
    .save_binary = [](caf::binary_serializer&, const void*) { return false; },
    .load_binary = [](caf::binary_deserializer&, void*) { return false; },
    .save = [](caf::serializer&, const void*) { return false; },
    .load = [](caf::deserializer&, void*) { return false; },
    .stringify =
      [](std::string& text, const void*) {
        constexpr auto name = caf::type_name_v<T>;
        text.append(name.begin(), name.end());
      }};
  caf::detail::set_global_meta_objects(caf::type_id_v<T>, caf::make_span(&type, 1));
  return core;
}

} // namespace fiber::detail

#define FIBER_REGISTER_MESSAGE_TYPE(n, ...)                                              \
  namespace {                                                                            \
  [[maybe_unused]] const bool fiber_message_type_##n =                                   \
    fiber::detail::register_message_type<__VA_ARGS__>();                                 \
  }

#else

#define FIBER_REGISTER_MESSAGE_TYPE(n, ...)

#endif

/// Lets messages between the actors of a process contain values of a type. Outside of all
/// namespaces, after its definition. With CAF 0.18 it has a type id: those of Fiber's own
/// are in type_ids.hpp.
#define FIBER_ACTOR_MESSAGE(...) FIBER_ACTOR_MESSAGE_AT(__COUNTER__, __VA_ARGS__)
#define FIBER_ACTOR_MESSAGE_AT(n, ...) FIBER_ACTOR_MESSAGE_NAMED(n, __VA_ARGS__)
#define FIBER_ACTOR_MESSAGE_NAMED(n, ...)                                                \
  template <>                                                                            \
  struct caf::allowed_unsafe_message_type<__VA_ARGS__> : std::true_type {};              \
  FIBER_REGISTER_MESSAGE_TYPE(n, __VA_ARGS__)
