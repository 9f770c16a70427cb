// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "fiber/ref.hpp"

// Data that several processes share, in a manager's job. A Manager (fiber/manager.hpp)
// makes each; each is a handle to which the rules of Ref apply, thread safety and
// exceptions included. Every member function is one call: it blocks for a round trip to
// that job. Where there is much to do, use the functions for many elements, or ref(),
// which takes a function to the data.

namespace fiber {

namespace detail {

template <class T>
std::vector<T> slice_of(const std::vector<T>& items, std::size_t from, std::size_t to) {
  to = to < items.size() ? to : items.size();
  if (from >= to)
    return {};
  return {items.begin() + static_cast<std::ptrdiff_t>(from),
          items.begin() + static_cast<std::ptrdiff_t>(to)};
}

template <class T, class Range>
std::vector<T> collect(Range&& range) {
  std::vector<T> items;
  for (auto&& item : range)
    items.emplace_back(std::forward<decltype(item)>(item));
  return items;
}

[[noreturn]] inline void throw_out_of_range(const char* what, std::size_t i,
                                            std::size_t size) {
  throw std::out_of_range(std::string(what) + ": there is no element " +
                          std::to_string(i) + " of " + std::to_string(size));
}

} // namespace detail

/// A map from K to V, as Python's manager.dict(). K needs operator<: keys() and items()
/// are in its order.
template <class K, class V>
class Dict {
public:
  /// What ref() refers to.
  using Map = std::map<K, V>;

  /// The value of `key`; nothing if there is no such key.
  std::optional<V> get(const K& key) const {
    return ref_.call(
      [](const Map& map, const K& k) -> std::optional<V> {
        auto found = map.find(k);
        return found == map.end() ? std::nullopt : std::optional<V>(found->second);
      },
      key);
  }
  /// The value of `key`. Throws RemoteError (std::out_of_range) if there is no such key.
  V at(const K& key) const {
    return ref_.call([](const Map& map, const K& k) { return map.at(k); }, key);
  }
  /// Inserts the key, or replaces its value.
  void set(const K& key, const V& value) const {
    ref_.call([](Map& map, const K& k, V& v) { map.insert_or_assign(k, std::move(v)); },
              key, value);
  }
  /// Whether there is such a key.
  bool contains(const K& key) const {
    return ref_.call([](const Map& map, const K& k) { return map.count(k) > 0; }, key);
  }
  /// Removes the key; returns whether it was there.
  bool erase(const K& key) const {
    return ref_.call([](Map& map, const K& k) { return map.erase(k) > 0; }, key);
  }
  /// The number of keys.
  std::size_t size() const {
    return ref_.call([](const Map& map) { return map.size(); });
  }
  /// All keys.
  std::vector<K> keys() const {
    return ref_.call([](const Map& map) {
      std::vector<K> all;
      for (auto& [key, value] : map)
        all.push_back(key);
      return all;
    });
  }
  /// All keys with their values.
  std::vector<std::pair<K, V>> items() const {
    return ref_.call([](const Map& map) {
      return std::vector<std::pair<K, V>>(map.begin(), map.end());
    });
  }
  /// Sets all pairs of a range, in one call.
  template <std::ranges::input_range Range>
  void update(Range&& range) const {
    ref_.call(
      [](Map& map, std::vector<std::pair<K, V>>& all) {
        for (auto& [key, value] : all)
          map.insert_or_assign(std::move(key), std::move(value));
      },
      detail::collect<std::pair<K, V>>(std::forward<Range>(range)));
  }
  /// The same for {{key, value}, ...}.
  void update(std::initializer_list<std::pair<K, V>> all) const {
    update(std::vector<std::pair<K, V>>(all));
  }
  /// Removes all keys.
  void clear() const {
    ref_.call([](Map& map) { map.clear(); });
  }

  /// The map itself, for functions of your own: dict.ref().call([](std::map<K, V>& map) {
  /// ... }).
  const Ref<Map>& ref() const { return ref_; }
  /// Whether both refer to the same data.
  bool operator==(const Dict&) const = default;
  /// How the handle travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const { ref_.fiber_pack(writer); }
  static Dict fiber_unpack(Reader& reader) {
    return Dict(Ref<Map>::fiber_unpack(reader));
  }

private:
  friend class Manager;
  explicit Dict(Ref<Map> ref) : ref_(std::move(ref)) {}
  Ref<Map> ref_;
};

namespace detail {

/// What List and Array have in common.
template <class T>
class Sequence {
public:
  /// What ref() refers to.
  using Vector = std::vector<T>;

  /// Element `i`. Throws RemoteError (std::out_of_range) if there is none.
  T at(std::size_t i) const {
    return ref_.call(
      [](const Vector& items, std::size_t at) -> T { return items.at(at); }, i);
  }
  /// Replaces element `i`. Throws as at().
  void set(std::size_t i, const T& value) const {
    ref_.call([](Vector& items, std::size_t at, T& v) { items.at(at) = std::move(v); }, i,
              value);
  }
  /// The elements from `from` to before `to`, as far as they exist.
  Vector slice(std::size_t from = 0, std::size_t to = SIZE_MAX) const {
    return ref_.call([](const Vector& items, std::size_t first,
                        std::size_t last) { return slice_of(items, first, last); },
                     from, to);
  }
  /// The number of elements.
  std::size_t size() const {
    return ref_.call([](const Vector& items) { return items.size(); });
  }

  /// The vector itself, for functions of your own: list.ref().call([](std::vector<T>&
  /// items) { ... }).
  const Ref<Vector>& ref() const { return ref_; }
  /// Whether both refer to the same data.
  bool operator==(const Sequence&) const = default;
  /// How the handle travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const { ref_.fiber_pack(writer); }

protected:
  explicit Sequence(Ref<Vector> ref) : ref_(std::move(ref)) {}
  Ref<Vector> ref_;
};

} // namespace detail

/// A sequence that grows and shrinks, as Python's manager.list().
template <class T>
class List : public detail::Sequence<T> {
public:
  using typename detail::Sequence<T>::Vector;

  /// Appends one element.
  void push_back(const T& value) const {
    this->ref_.call([](Vector& items, T& v) { items.push_back(std::move(v)); }, value);
  }
  /// Removes the last element and returns it. Throws RemoteError (std::out_of_range) if
  /// there is none.
  T pop_back() const {
    return this->ref_.call([](Vector& items) {
      if (items.empty())
        throw std::out_of_range("pop_back() of an empty List");
      T last = std::move(items.back());
      items.pop_back();
      return last;
    });
  }
  /// Inserts before element `i`, or at the end if `i` is the size. Throws RemoteError
  /// (std::out_of_range) if it is more.
  void insert(std::size_t i, const T& value) const {
    this->ref_.call(
      [](Vector& items, std::size_t at, T& v) {
        if (at > items.size())
          detail::throw_out_of_range("List::insert", at, items.size());
        items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), std::move(v));
      },
      i, value);
  }
  /// Removes element `i`. Throws RemoteError (std::out_of_range) if there is none.
  void erase(std::size_t i) const {
    this->ref_.call(
      [](Vector& items, std::size_t at) {
        if (at >= items.size())
          detail::throw_out_of_range("List::erase", at, items.size());
        items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
      },
      i);
  }
  /// Appends all elements of a range, in one call.
  template <std::ranges::input_range Range>
  void extend(Range&& range) const {
    this->ref_.call(
      [](Vector& items, Vector& more) {
        items.insert(items.end(), std::make_move_iterator(more.begin()),
                     std::make_move_iterator(more.end()));
      },
      detail::collect<T>(std::forward<Range>(range)));
  }
  /// The same for {a, b, ...}.
  void extend(std::initializer_list<T> items) const { extend(Vector(items)); }
  static List fiber_unpack(Reader& reader) {
    return List(Ref<Vector>::fiber_unpack(reader));
  }

private:
  friend class Manager;
  explicit List(Ref<Vector> ref) : detail::Sequence<T>(std::move(ref)) {}
};

namespace detail {
template <class T>
struct ValueCell {
  T value;
};
} // namespace detail

/// One value, as Python's manager.Value().
template <class T>
class Value {
public:
  using Cell = detail::ValueCell<T>;

  /// A copy of the value.
  T get() const {
    return ref_.call([](const Cell& cell) -> T { return cell.value; });
  }
  /// Replaces the value.
  void set(const T& value) const {
    ref_.call([](Cell& cell, T& v) { cell.value = std::move(v); }, value);
  }
  /// Runs f(T&, args...) on the value and returns what `f` returns. No other call reads
  /// or changes the value meanwhile.
  template <class F, class... Args>
  detail::object_result_t<F, T, Args...> apply(F f, Args&&... args) const {
    return ref_.call(Apply<F>(std::move(f)), std::forward<Args>(args)...);
  }

  /// Whether both refer to the same value.
  bool operator==(const Value&) const = default;
  /// How the handle travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const { ref_.fiber_pack(writer); }
  static Value fiber_unpack(Reader& reader) {
    return Value(Ref<Cell>::fiber_unpack(reader));
  }

private:
  friend class Manager;
  explicit Value(Ref<Cell> ref) : ref_(std::move(ref)) {}

  template <class F>
  class Apply {
  public:
    explicit Apply(F f) : f_(std::move(f)) { detail::check_callable<F>(); }
    template <class... Args>
      requires std::is_invocable_v<F&, T&, Args...>
    decltype(auto) operator()(Cell& cell, Args&&... args) {
      return std::invoke(f_, cell.value, std::forward<Args>(args)...);
    }
    void fiber_pack(Writer& writer) const { detail::pack_callable(writer, f_); }
    static Apply fiber_unpack(Reader& reader) {
      return Apply(detail::unpack_callable<F>(reader));
    }

  private:
    F f_;
  };

  Ref<Cell> ref_;
};

/// A sequence of fixed length, as Python's manager.Array().
template <class T>
class Array : public detail::Sequence<T> {
public:
  using typename detail::Sequence<T>::Vector;

  /// Replaces elements from `from` on, in one call. If they do not fit, replaces none and
  /// throws RemoteError (std::out_of_range).
  template <std::ranges::input_range Range>
  void assign(std::size_t from, Range&& range) const {
    this->ref_.call(
      [](Vector& items, std::size_t at, Vector& some) {
        if (at > items.size() || some.size() > items.size() - at)
          detail::throw_out_of_range("Array::assign", at + some.size(), items.size());
        std::move(some.begin(), some.end(),
                  items.begin() + static_cast<std::ptrdiff_t>(at));
      },
      from, detail::collect<T>(std::forward<Range>(range)));
  }
  static Array fiber_unpack(Reader& reader) {
    return Array(Ref<Vector>::fiber_unpack(reader));
  }

private:
  friend class Manager;
  explicit Array(Ref<Vector> ref) : detail::Sequence<T>(std::move(ref)) {}
};

namespace detail {

/// Values of any types by name, in the manager's job.
class NamespaceMap {
public:
  template <class T>
  void set(const std::string& name, T& value) {
    all_.insert_or_assign(name, std::any(std::move(value)));
  }
  template <class T>
  T get(const std::string& name) const {
    auto found = all_.find(name);
    if (found == all_.end())
      throw std::out_of_range("a Namespace has no '" + name + "'");
    if (auto* value = std::any_cast<T>(&found->second))
      return *value;
    throw_other_type(name, found->second.type(), typeid(T));
  }
  bool erase(const std::string& name) { return all_.erase(name) > 0; }

private:
  [[noreturn]] static void throw_other_type(const std::string& name,
                                            const std::type_info& is,
                                            const std::type_info& asked);

  std::map<std::string, std::any> all_;
};

} // namespace detail

/// Values of any types by name, as Python's manager.Namespace().
class Namespace {
public:
  /// The value of that name. Throws RemoteError if there is none (std::out_of_range), or
  /// if it is no T.
  template <class T>
  T get(const std::string& name) const {
    return ref_.call([](const detail::NamespaceMap& map,
                        const std::string& of) -> T { return map.get<T>(of); },
                     name);
  }
  /// Sets the value of that name, which may have had another type.
  template <class T>
  void set(const std::string& name, const T& value) const {
    using V = detail::value_t<const T&>;
    ref_.call(
      [](detail::NamespaceMap& map, const std::string& of, V& v) { map.set<V>(of, v); },
      name, value);
  }
  /// Removes the value of that name; returns whether there was one.
  bool erase(const std::string& name) const {
    return ref_.call<&detail::NamespaceMap::erase>(name);
  }

  /// Whether both refer to the same data.
  bool operator==(const Namespace&) const = default;
  /// How the handle travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const { ref_.fiber_pack(writer); }
  static Namespace fiber_unpack(Reader& reader) {
    return Namespace(Ref<detail::NamespaceMap>::fiber_unpack(reader));
  }

private:
  friend class Manager;
  explicit Namespace(Ref<detail::NamespaceMap> ref) : ref_(std::move(ref)) {}
  Ref<detail::NamespaceMap> ref_;
};

} // namespace fiber
