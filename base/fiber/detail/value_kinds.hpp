// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/access.hpp>
#include <boost/serialization/level.hpp>
#include <boost/serialization/serialization.hpp>

#include "fiber/byte_stream.hpp"
#include "fiber/detail/process_bound.hpp"

// Which types are values, and how a value of each kind travels. Programs use
// fiber/value.hpp.

namespace fiber::detail {

template <class T>
consteval bool is_closure() {
  // The language has no trait for this, but both compilers spell it in the function's
  // name.
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find("T = ") + 4);
#if defined(__clang__)
  return name.starts_with("(lambda at");
#else
  // g++ may explain names after a semicolon.
  name = name.substr(0, std::min(name.find(';'), name.rfind(']')));
  auto at = name.rfind("<lambda");
  if (at == std::string_view::npos)
    return false;
  // A closure's name ends with this bracket. The name of a template with a closure as its
  // argument continues.
  int depth = 0;
  for (auto i = at; i < name.size(); ++i) {
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
    if (depth == 0)
      return i + 1 == name.size();
  }
  return false;
#endif
}

/// A lambda with captures: its members are not known.
template <class T>
inline constexpr bool is_capturing_closure =
  std::is_class_v<T> && is_closure<T>() && !std::is_default_constructible_v<T>;

struct NameProbe {
  int serialize;
};
template <class T>
struct NameClash : T, NameProbe {};

/// Whether there is a member named serialize, private or not: it makes the lookup in
/// NameClash ambiguous.
template <class T>
consteval bool has_serialize_member() {
  if constexpr (std::is_class_v<T> && !std::is_final_v<T>)
    return !requires { &NameClash<T>::serialize; };
  else
    return requires(T& t, boost::archive::binary_oarchive& ar) { t.serialize(ar, 0U); };
}

template <class T>
concept FreelySerializable =
  requires(T& t, boost::archive::binary_oarchive& ar) { serialize(ar, t, 0U); };

/// A handle of Fiber's, or a type of yours, that packs itself: `void fiber_pack(Writer&)
/// const` and `static T fiber_unpack(Reader&)`.
template <class T>
concept SelfPacking = requires(const T& t, Writer& w, Reader& r) {
  t.fiber_pack(w);
  { T::fiber_unpack(r) } -> std::same_as<T>;
};

template <class T>
inline constexpr bool is_span = false;
template <class T, std::size_t N>
inline constexpr bool is_span<std::span<T, N>> = true;
template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;
template <class T>
inline constexpr bool is_function_wrapper = false;
template <class Signature>
inline constexpr bool is_function_wrapper<std::function<Signature>> = true;

/// Travels as its object representation.
template <class T>
concept Flat =
  std::is_arithmetic_v<T> || std::is_enum_v<T> ||
  (std::is_trivially_copyable_v<T> && std::is_class_v<T> && !has_serialize_member<T>() &&
   !FreelySerializable<T> && !SelfPacking<T> && !is_a<T, std::pair> &&
   !is_a<T, std::tuple> && !is_a<T, std::optional> && !is_a<T, std::variant> &&
   !is_span<T> && !is_array<T> && !is_error<T> && !is_closure<T>());

/// map, set and their kin: a sequence whose elements are inserted one by one.
template <class T>
concept Container = requires(T& t, const T& c) {
  typename T::value_type;
  { c.size() } -> std::convertible_to<std::size_t>;
  c.begin() != c.end();
  t.insert(t.end(), std::declval<typename T::value_type>());
  t.clear();
} && !has_serialize_member<T>() && !FreelySerializable<T>;

template <class T>
concept FlatVector = is_a<T, std::vector> && !std::is_same_v<T, std::vector<bool>> &&
                     Flat<typename T::value_type>;

template <class T>
concept FlatArray =
  is_array<T> && (std::tuple_size<T>::value > 0) && Flat<typename T::value_type> &&
  !std::is_const_v<typename T::value_type>;

/// Refers to what belongs to something else. Without this it would be Flat, and its
/// address would travel.
template <class T>
concept View = is_a<T, std::reference_wrapper> || is_a<T, std::initializer_list> ||
               is_a<T, std::basic_string_view> ||
               (std::is_class_v<T> && !is_span<T> && Flat<T> &&
                (std::ranges::view<T> || std::input_or_output_iterator<T>));

template <class T>
consteval bool holds_address();

/// Initialises any member of the aggregate `T`. The conversion is noexcept unless it is
/// `strict` and the member holds an address.
template <class T, bool strict>
struct Initialiser {
  template <class U> // NOLINTNEXTLINE(google-explicit-constructor): meant.
    requires(!std::is_same_v<U, T>)
  operator U() const noexcept(!strict || !holds_address<U>());
};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-braces"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
/// Whether one of the first members of an aggregate holds an address. Elements of an
/// array count as members.
template <class T, std::size_t... I>
consteval bool has_address_member(std::index_sequence<I...>) {
  if constexpr (requires { T{(static_cast<void>(I), Initialiser<T, false>())...}; })
    return noexcept(T{(static_cast<void>(I), Initialiser<T, false>())...}) &&
           !noexcept(T{(static_cast<void>(I), Initialiser<T, true>())...});
  else if constexpr (sizeof...(I) > 0) // There are fewer members.
    return has_address_member<T>(std::make_index_sequence<sizeof...(I) - 1>());
  else
    return false;
}
#pragma GCC diagnostic pop

/// A struct that would travel as its object representation, with an address in it.
template <class T>
inline constexpr bool is_address_holder = false;
template <class T>
  requires(Flat<T> && std::is_class_v<T> && std::is_aggregate_v<T> && !std::is_empty_v<T>)
inline constexpr bool is_address_holder<T> =
  has_address_member<T>(std::make_index_sequence<16>());

template <class T>
inline constexpr bool is_variant_with_address = false;
template <class... Alternatives>
inline constexpr bool is_variant_with_address<std::variant<Alternatives...>> =
  (holds_address<std::remove_const_t<Alternatives>>() || ...);

/// Whether the bytes of a `T`, as a member of a struct, mean nothing in another process.
template <class T>
consteval bool holds_address() {
  if constexpr (is_array<T> || is_a<T, std::optional>)
    return holds_address<std::remove_const_t<typename T::value_type>>();
  else
    return std::is_pointer_v<T> || std::is_member_pointer_v<T> || is_process_bound<T> ||
           is_error<T> || is_span<T> || View<T> || is_address_holder<T> ||
           is_variant_with_address<T> || is_standard_binder<T>;
}

template <class T>
struct ValueOf {
  using Plain = std::remove_reference_t<T>;
  using type = std::conditional_t<
    std::is_array_v<Plain> &&
      std::is_same_v<std::remove_cv_t<std::remove_extent_t<Plain>>, char>,
    std::string, std::decay_t<T>>;
};
/// What `T` is as a value: its decayed type; a string for a string literal.
template <class T>
using value_t = typename ValueOf<T>::type;

/// As generic as Boost's own serialize(): a call that finds no better one is ambiguous.
/// `const` as in Boost's own: else clang 16 does not take the parameters for the same.
namespace any_type {
template <class Archive, class T>
void serialize(Archive&, T&, const unsigned);

template <class T>
concept BetterSerializable = requires(boost::archive::binary_oarchive& ar, T& t) {
  serialize(ar, t, boost::serialization::version_type(0));
};
} // namespace any_type

/// Whether Boost can archive it. A final class may have a serialize() that can't be seen
/// from here.
template <class T>
inline constexpr bool is_archivable =
  !std::is_class_v<T> || std::is_final_v<T> || has_serialize_member<T>() ||
  FreelySerializable<T> || any_type::BetterSerializable<T> ||
  boost::serialization::implementation_level<T>::value ==
    boost::serialization::primitive_type;

template <class T>
constexpr void check_archivable() {
  static_assert(
    is_archivable<T>,
    "fiber: this type can't be sent to another process, as it is not trivially copyable "
    "and has no serialize(); give it a member template <class Archive> void "
    "serialize(Archive& archive, unsigned) { archive & each & of & its & members; }");
}

template <class T>
constexpr void check_mutable_value() {
  static_assert(!std::is_reference_v<T>,
                "fiber: a reference can't be sent to another process; send a value");
  static_assert(
    !std::is_pointer_v<T> && !std::is_member_pointer_v<T> && !std::is_null_pointer_v<T>,
    "fiber: a raw pointer means nothing in another process; send the value itself, a "
    "std::vector or a std::string (a function pointer can be a callable, not a value)");
  static_assert(
    !View<T>,
    "fiber: a view or reference can't be sent to another process, as what it refers to "
    "stays behind; send a std::string instead of a std::string_view, a std::vector "
    "instead of other views and of iterators, the value itself instead of std::ref");
  static_assert(
    !is_capturing_closure<T>,
    "fiber: a lambda with captures can't be sent to another process; use "
    "fiber::bind(lambda, values...) with a lambda that captures nothing, or a "
    "function object with a serialize() member");
  static_assert(
    !is_function_wrapper<T>,
    "fiber: a std::function can't be sent to another process; use a function, a "
    "capture-less lambda, fiber::bind or a function object with serialize()");
  static_assert(
    !is_standard_binder<T>,
    "fiber: what std::bind, std::bind_front, std::mem_fn and std::not_fn return can't be "
    "sent to another process, as it may hold addresses; use fiber::bind, or a lambda "
    "that "
    "captures nothing");
  static_assert(
    !is_process_bound<T>,
    "fiber: a value of this type means something in one process only (std::type_index, "
    "std::source_location, std::thread::id, std::coroutine_handle, allocators and zoned "
    "times are such types); send what the value stands for, such as a name or a number");
  static_assert(
    !is_address_holder<T>,
    "fiber: a member of this struct is a pointer, a view, a std::error_code or of "
    "another type that means something in one process only; give the struct a "
    "serialize() that sends what the member stands for");
}

template <class T>
constexpr void check_value() {
  check_mutable_value<std::remove_const_t<T>>();
}

} // namespace fiber::detail
