// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/access.hpp>

#include "fiber/byte_stream.hpp"
#include "fiber/detail/input_archive.hpp"
#include "fiber/detail/value_kinds.hpp"
#include "fiber/detail/writer_buffer.hpp"

// How values travel. A value is anything that Boost.Serialization can archive. Arithmetic
// types, enums, strings, pairs, tuples, optionals, variants, standard containers and
// trivially copyable types take a fast path without an archive.
//
// Pointers, references and views (std::string_view, std::span, iterators, ...) and what
// else means something in one process only (std::thread::id, std::type_index, ...) are
// refused at compile time, alone and as one of the first 16 members of a struct. A
// trivially copyable class with private members can't be looked into: give it a
// serialize() member if it has one of these. std::error_code and std::error_condition
// travel as the name of their category, which must be of the standard library, and their
// value.

namespace fiber {

namespace detail {

// -- error codes

/// Writes the name of the category, and the value. Throws Error if the category is not
/// one of the standard library.
void pack_error(Writer& writer, const std::error_category& category, int value);
std::pair<const std::error_category*, int> unpack_error(Reader& reader);

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
  if constexpr (std::is_const_v<T>) {
    pack<std::remove_const_t<T>>(writer, value);
  } else if constexpr (detail::SelfPacking<T>) {
    value.fiber_pack(writer);
  } else if constexpr (detail::Flat<T>) {
    detail::pack_flat(writer, &value, 1);
  } else if constexpr (detail::is_error<T>) {
    detail::pack_error(writer, value.category(), value.value());
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
  if constexpr (std::is_const_v<T>)
    return min_size<std::remove_const_t<T>>();
  else if constexpr (SelfPacking<T>)
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
  if constexpr (std::is_const_v<T>) { // A part of a pair, an array and so on.
    return unpack<std::remove_const_t<T>>(reader);
  } else if constexpr (detail::SelfPacking<T>) {
    return T::fiber_unpack(reader);
  } else if constexpr (detail::Flat<T>) {
    return reader.template get<T>();
  } else if constexpr (detail::is_error<T>) {
    auto [category, value] = detail::unpack_error(reader);
    return T(value, *category);
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
