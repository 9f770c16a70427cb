// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/access.hpp>
#include <boost/serialization/level.hpp>
#include <boost/serialization/serialization.hpp>

#include "fiber/byte_stream.hpp"
#include "fiber/detail/input_archive.hpp"
#include "fiber/detail/writer_buffer.hpp"

// How values travel. A value is anything that Boost.Serialization can archive. Arithmetic
// types, enums, strings, pairs, tuples, optionals, variants, standard containers and
// trivially copyable types take a fast path without an archive.
//
// Pointers, references and views (std::string_view, std::span, iterators, ...) are
// refused at compile time, since what they refer to stays behind. A trivially copyable
// struct that contains one can't be told from any other: give it a serialize() member, or
// send what it refers to.

namespace fiber {

namespace detail {

// -- kinds of types

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
  // argument goes on.
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

template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... Args>
inline constexpr bool is_a<Template<Args...>, Template> = true;
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
   !is_span<T> && !is_array<T> && !is_closure<T>());

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
  is_array<T> && (std::tuple_size<T>::value > 0) && Flat<typename T::value_type>;

/// Refers to what belongs to something else. Without this it would be Flat, and its
/// address would travel.
template <class T>
concept View = is_a<T, std::reference_wrapper> || is_a<T, std::initializer_list> ||
               is_a<T, std::basic_string_view> ||
               (std::is_class_v<T> && !is_span<T> && Flat<T> &&
                (std::ranges::view<T> || std::input_or_output_iterator<T>));

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
constexpr void check_value() {
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
}

// -- Boost.Serialization over bytes

inline constexpr unsigned archive_flags =
  boost::archive::no_header | boost::archive::no_codecvt;

template <class T>
void archive(Writer& writer, const T& value) {
  WriterBuffer buffer(writer);
  boost::archive::binary_oarchive out(buffer, archive_flags);
  out << value;
}

template <class T>
T unarchive(Reader& reader) {
  auto load = [&](T& value) {
    read_archive(reader, typeid(T), std::addressof(value),
                 [](InputArchive& in, void* to) { in >> *static_cast<T*>(to); });
  };
  if constexpr (std::is_default_constructible_v<T>) {
    T value = T(); // Without braces, of which g++ 12 warns at -O3.
    load(value);
    return value;
  } else { // Only boost::serialization::access may call the default constructor.
    struct Storage {
      alignas(T) std::byte bytes[sizeof(T)];
      T* get() { return reinterpret_cast<T*>(bytes); }
    } storage;
    boost::serialization::access::construct(storage.get());
    auto destroy = [](T* value) { std::destroy_at(value); };
    std::unique_ptr<T, decltype(destroy)> owner(storage.get(), destroy);
    load(*owner);
    return std::move(*owner);
  }
}

/// Whether equal values may have different object representations.
template <class T>
inline constexpr bool is_padded = !std::has_unique_object_representations_v<T> &&
                                  !std::is_same_v<T, float> && !std::is_same_v<T, double>;

template <class T>
void pack_flat(Writer& writer, const T* values, std::size_t n) {
  if constexpr (is_padded<T>) {
    if (writer.compares()) {
      for (std::size_t i = 0; i < n; ++i) {
        alignas(T) std::array<std::byte, sizeof(T)> image;
        std::memcpy(image.data(), values + i, sizeof(T));
#if __has_builtin(__builtin_clear_padding)
        __builtin_clear_padding(reinterpret_cast<T*>(image.data()));
#endif
        writer.raw(image.data(), image.size());
      }
      return;
    }
  }
  writer.raw(values, n * sizeof(T));
}

} // namespace detail

// -- pack and unpack

/// Appends `value` to what `writer` writes. Throws what archiving it throws, and Error
/// for a variant without a value. Types that can't be sent are refused at compile time.
template <class T>
void pack(Writer& writer, const T& value) {
  detail::check_value<T>();
  if constexpr (detail::SelfPacking<T>) {
    value.fiber_pack(writer);
  } else if constexpr (detail::Flat<T>) {
    detail::pack_flat(writer, &value, 1);
  } else if constexpr (std::is_same_v<T, std::string>) {
    writer.text(value);
  } else if constexpr (detail::is_span<T> || detail::is_a<T, std::vector>) {
    using Item = typename T::value_type;
    detail::check_value<Item>();
    writer.size(value.size());
    if constexpr (detail::Flat<Item> && !std::is_same_v<T, std::vector<bool>>)
      detail::pack_flat(writer, value.data(), value.size());
    else
      for (const Item& item : value)
        pack<Item>(writer, item);
  } else if constexpr (detail::FlatArray<T>) {
    detail::check_value<typename T::value_type>();
    detail::pack_flat(writer, value.data(), value.size());
  } else if constexpr (detail::is_array<T>) {
    for (const auto& item : value)
      pack(writer, item);
  } else if constexpr (detail::is_a<T, std::pair> || detail::is_a<T, std::tuple>) {
    std::apply([&](const auto&... part) { (pack(writer, part), ...); }, value);
  } else if constexpr (detail::is_a<T, std::optional>) {
    writer.put(value.has_value());
    if (value)
      pack(writer, *value);
  } else if constexpr (detail::is_a<T, std::variant>) {
    if (value.valueless_by_exception())
      throw Error("a variant without a value can't be sent");
    writer.put(static_cast<std::uint32_t>(value.index()));
    std::visit([&](const auto& part) { pack(writer, part); }, value);
  } else if constexpr (std::is_same_v<T, std::monostate>) {
  } else if constexpr (detail::Container<T>) {
    writer.size(value.size());
    for (const auto& item : value)
      pack<std::decay_t<decltype(item)>>(writer, item);
  } else {
    detail::check_archivable<T>();
    if constexpr (detail::is_archivable<T>)
      detail::archive(writer, value);
  }
}

/// Reads a `T`. Throws Error if the bytes are not those of a `T`.
template <class T>
T unpack(Reader& reader);

namespace detail {

template <class Pair>
struct mutable_pair {
  using type = Pair;
};
template <class K, class V>
struct mutable_pair<std::pair<const K, V>> {
  using type = std::pair<K, V>;
};

template <class T, std::size_t I = 0>
T unpack_variant(Reader& reader, std::size_t index) {
  if constexpr (I < std::variant_size_v<T>) {
    if (index == I)
      return T(std::in_place_index<I>, unpack<std::variant_alternative_t<I, T>>(reader));
    return unpack_variant<T, I + 1>(reader, index);
  } else {
    throw Error("a variant names alternative " + std::to_string(index) + " of " +
                std::to_string(std::variant_size_v<T>));
  }
}

template <class T, std::size_t... I>
T unpack_array(Reader& reader, std::index_sequence<I...>) {
  return {((void)I, unpack<typename T::value_type>(reader))...};
}

template <class T>
struct Parts;
template <class A, class B>
struct Parts<std::pair<A, B>> {
  static std::pair<A, B> unpack(Reader& reader) {
    A first = fiber::unpack<A>(reader);
    return {std::move(first), fiber::unpack<B>(reader)};
  }
};
template <class... Ts>
struct Parts<std::tuple<Ts...>> {
  // Braces, so that the parts are read from left to right.
  static std::tuple<Ts...> unpack(Reader& reader) {
    return std::tuple<Ts...>{fiber::unpack<Ts>(reader)...};
  }
};

/// The fewest bytes that a T may take: 0 if that can't be told.
template <class T>
consteval std::size_t min_size() {
  if constexpr (SelfPacking<T>)
    return 0;
  else if constexpr (Flat<T> || FlatArray<T>)
    return sizeof(T);
  else if constexpr (std::is_same_v<T, std::string> || is_a<T, std::vector> ||
                     Container<T>)
    return sizeof(std::uint64_t);
  else if constexpr (is_a<T, std::variant>)
    return sizeof(std::uint32_t);
  else if constexpr (is_a<T, std::optional>)
    return sizeof(bool);
  else
    return 0;
}

/// Calls `add` for each element that `reader` announces.
template <class Item, class Prepare, class Add>
void unpack_each(Reader& reader, Prepare prepare, Add add) {
  constexpr auto least = min_size<Item>();
  auto n = reader.size(least);
  prepare(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto before = reader.rest().size();
    add(fiber::unpack<Item>(reader));
    if (least == 0 && reader.rest().size() == before)
      reader.count_empty();
  }
}

template <class T>
T unpack_vector(Reader& reader) {
  using Item = typename T::value_type;
  check_value<Item>();
  T items;
  if constexpr (FlatVector<T>) {
    auto n = reader.size(sizeof(Item));
    auto from = reader.raw(n * sizeof(Item));
    auto* first = reinterpret_cast<const Item*>(from.data());
    if (n > 0 && reinterpret_cast<std::uintptr_t>(first) % alignof(Item) == 0) {
      items.assign(first, first + n); // Writes the memory once; resize() would twice.
    } else if (n > 0) {
      items.resize(n);
      std::memcpy(items.data(), from.data(), from.size());
    }
  } else {
    // A lie about their number costs no more than a small multiple of what arrived.
    auto reserve = [&](std::size_t n) {
      items.reserve(std::min(n, (16 * reader.rest().size() + 4096) / sizeof(Item)));
    };
    unpack_each<Item>(reader, reserve,
                      [&](Item&& item) { items.push_back(std::move(item)); });
  }
  return items;
}

} // namespace detail

template <class T>
T unpack(Reader& reader) {
  detail::check_value<T>();
  static_assert(
    !detail::is_span<T>,
    "fiber: a std::span has no storage of its own at the receiver; take a std::vector "
    "there, or share() the data as a SharedArray");
  if constexpr (detail::SelfPacking<T>) {
    return T::fiber_unpack(reader);
  } else if constexpr (detail::Flat<T>) {
    return reader.template get<T>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return reader.text();
  } else if constexpr (detail::is_a<T, std::vector>) {
    return detail::unpack_vector<T>(reader);
  } else if constexpr (detail::FlatArray<T>) {
    detail::check_value<typename T::value_type>();
    return reader.template get<T>();
  } else if constexpr (detail::is_array<T>) {
    return detail::unpack_array<T>(reader,
                                   std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (detail::is_a<T, std::pair> || detail::is_a<T, std::tuple>) {
    return detail::Parts<T>::unpack(reader);
  } else if constexpr (detail::is_a<T, std::optional>) {
    if (!reader.template get<bool>())
      return std::nullopt;
    return unpack<typename T::value_type>(reader);
  } else if constexpr (detail::is_a<T, std::variant>) {
    return detail::unpack_variant<T>(reader, reader.template get<std::uint32_t>());
  } else if constexpr (std::is_same_v<T, std::monostate>) {
    return {};
  } else if constexpr (detail::Container<T>) {
    T items;
    using Item = typename detail::mutable_pair<typename T::value_type>::type;
    detail::unpack_each<Item>(
      reader, [](std::size_t) {},
      [&](Item&& item) { items.insert(items.end(), std::move(item)); });
    return items;
  } else {
    detail::check_archivable<T>();
    if constexpr (detail::is_archivable<T>)
      return detail::unarchive<T>(reader);
  }
}

} // namespace fiber
