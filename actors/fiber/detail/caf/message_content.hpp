// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include <caf/all.hpp>

namespace fiber::detail {

template <class... Ts>
struct Types {};
template <class... Ts, class... Us>
Types<Ts..., Us...> operator+(Types<Ts...>, Types<Us...>) {
  return {};
}

/// Types that CAF knows and that messages between processes may hold, whatever the
/// version.
using CommonTypes =
  Types<caf::actor, std::vector<caf::actor>, caf::actor_addr,
        std::vector<caf::actor_addr>, caf::down_msg, caf::error, caf::exit_msg,
        std::int16_t, std::int32_t, std::int64_t, std::int8_t, long double, caf::message,
        std::string, caf::strong_actor_ptr, std::set<std::string>, caf::timespan,
        caf::timestamp, std::uint16_t, std::u16string, std::uint32_t, std::u32string,
        std::uint64_t, std::uint8_t, caf::unit_t, caf::weak_actor_ptr, bool, double,
        float>;

#if CAF_VERSION < 1800

/// The values of a message.
using MessageContent = caf::type_erased_tuple;
/// What caf::abstract_actor::enqueue() returns.
using Enqueued = void;

/// The types of CAF that messages between processes may hold: all but streams, groups,
/// node ids and CAF's internal messages.
using CafTypes =
  decltype(CommonTypes() +
           Types<caf::atom_value, std::vector<char>, std::map<std::string, std::string>,
                 std::vector<std::string>>());

/// Identifies a type in this process: CAF's number, or, where that is 0, the type.
using TypeKey = std::pair<std::uint16_t, std::type_index>;

template <class T>
TypeKey type_key() {
  constexpr auto number = caf::type_nr<T>::value;
  return {number, number == 0 ? typeid(T) : typeid(void)};
}
/// Returns the type of a value in a message.
inline TypeKey type_key(const MessageContent& content, std::size_t index) {
  auto [number, type] = content.type(index);
  return {number, type != nullptr ? *type : typeid(void)};
}
/// Returns its name, for people.
inline std::string type_name(const MessageContent& content, std::size_t index) {
  auto [number, type] = content.type(index);
  return type != nullptr ? type->name() : caf::to_string(content.type(index));
}
inline const void* value_at(const MessageContent& content, std::size_t index) {
  return content.get(index);
}

#else

using MessageContent = caf::message;
using Enqueued = bool;
using TypeKey = caf::type_id_t;

/// CAF's atoms are separate types, with the type ids in between.
template <caf::type_id_t... offsets>
auto atoms(std::integer_sequence<caf::type_id_t, offsets...>)
  -> Types<caf::type_by_id_t<caf::type_id_v<caf::add_atom> + offsets>...>;
using CafAtoms = decltype(atoms(
  std::make_integer_sequence<caf::type_id_t, caf::id_block::core_module::end -
                                               caf::type_id_v<caf::add_atom>>()));

using CafTypes = decltype(CommonTypes() + CafAtoms());

template <class T>
TypeKey type_key() {
  return caf::type_id_v<T>;
}
inline TypeKey type_key(const MessageContent& content, std::size_t index) {
  return content.type_at(index);
}
inline std::string type_name(const MessageContent& content, std::size_t index) {
  auto name = caf::query_type_name(content.type_at(index));
  return {name.begin(), name.end()};
}
inline const void* value_at(const MessageContent& content, std::size_t index) {
  return content.cdata().at(index);
}

#endif

} // namespace fiber::detail
