// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fiber/bytes.hpp"
#include "fiber/error.hpp"

namespace fiber {

namespace detail {

/// Identifies bytes when they are compared: different bytes have different digests.
using Digest = std::array<std::byte, 16>;

} // namespace detail

/// Appends to a byte string. Types with a fiber_pack() member write themselves to one.
///
/// Thread safety: one thread at a time.
class Writer {
public:
  /// Appends to `out`. If there is a `tail`, it gets the last part of the value if that
  /// is large: see end_with().
  explicit Writer(Bytes& out, Payload* tail = nullptr) : out_(&out), tail_(tail) {}
  /// A Writer whose bytes can be compared with those of another run of the program, but
  /// not read back. It writes the name of a function instead of its place, what a handle
  /// refers to instead of its number, and nothing where a struct is padded.
  static Writer comparing(Bytes& out) {
    Writer writer(out);
    writer.compares_ = true;
    return writer;
  }
  /// Whether it was made by comparing().
  bool compares() const { return compares_; }
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__) // g++ 12 at -O3: it moves what is not there.
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Warray-bounds"
#endif
  /// Appends `size` bytes.
  void raw(const void* data, std::size_t size) {
    auto first = static_cast<const std::byte*>(data);
    if (out_->capacity() == 0 && size > 0) // Growing from 1 byte on would allocate often.
      out_->reserve(std::max(size, min_capacity));
    out_->insert(out_->end(), first, first + size);
  }
#pragma GCC diagnostic pop
  /// Appends the object representation of `value`.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    raw(&value, sizeof value);
  }
  /// Appends a count, in 8 bytes.
  void size(std::size_t n) { put(static_cast<std::uint64_t>(n)); }
  /// Appends the number of characters, and then these.
  void text(std::string_view text) {
    size(text.size());
    raw(text.data(), text.size());
  }

  /// Appends the bytes of `items`, which must be the end of the value. If there is a tail
  /// it takes 64 KiB or more of them without a copy.
  template <class T>
  void end_with(std::vector<T> items) {
    auto bytes = std::as_bytes(std::span(items));
    if (tail_ == nullptr || bytes.size() < min_tail) {
      raw(bytes.data(), bytes.size());
      return;
    }
    auto owner = std::make_shared<const std::vector<T>>(std::move(items));
    *tail_ = Payload(owner, std::as_bytes(std::span(*owner)));
  }

private:
  static constexpr std::size_t min_capacity = 64;
  static constexpr std::size_t min_tail = 64 * 1024;

  Bytes* out_;
  Payload* tail_;
  bool compares_ = false;
};

/// Reads what a Writer wrote. Each member function throws Error if the bytes end too
/// early.
///
/// Thread safety: one thread at a time.
class Reader {
public:
  /// Reads from `bytes`, which must outlive this.
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  /// Takes the next `n` bytes, without a copy.
  std::span<const std::byte> raw(std::size_t n) {
    if (n > rest_.size())
      throw Error("a value ends after " + std::to_string(rest_.size()) + " of " +
                  std::to_string(n) + " bytes");
    auto part = rest_.first(n);
    rest_ = rest_.subspan(n);
    return part;
  }
  /// Copies the next `n` bytes.
  void copy(void* to, std::size_t n) {
    auto from = raw(n);
    if (n > 0)
      std::memcpy(to, from.data(), n);
  }
  /// Takes an object representation that put() wrote.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  T get() {
    if constexpr (std::is_same_v<T, bool>) { // Another byte than 0 and 1 is no bool.
      return get<std::uint8_t>() != 0;
    } else {
      std::array<std::byte, sizeof(T)> image;
      copy(image.data(), sizeof(T));
      return std::bit_cast<T>(image);
    }
  }
  /// Takes a count of elements that have at least `least` bytes each. Throws Error for a
  /// count that can't be right, before memory is allocated for it.
  std::size_t size(std::size_t least = 1) {
    auto n = get<std::uint64_t>();
    if (least > 0 && n > rest_.size() / least)
      throw Error("a value announces " + std::to_string(n) + " elements in " +
                  std::to_string(rest_.size()) + " bytes");
    return static_cast<std::size_t>(n);
  }
  /// Takes what Writer::text() wrote.
  std::string text() { return std::string(text_view()); }
  /// The same without a copy; valid as long as the bytes.
  std::string_view text_view() {
    auto part = raw(size());
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  /// Counts an element that took no bytes. Throws Error for more than a million of them,
  /// as a lie about their number costs nothing.
  void count_empty() {
    if (++empty_ > 1 << 20)
      throw Error("a value announces more than " + std::to_string(1 << 20) +
                  " elements without content");
  }
  /// The bytes that have not been read.
  std::span<const std::byte> rest() const { return rest_; }
  /// Whether all bytes have been read.
  bool empty() const { return rest_.empty(); }

private:
  std::span<const std::byte> rest_;
  std::uint32_t empty_ = 0;
};

} // namespace fiber
