// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/archive/basic_archive.hpp>
#include <boost/archive/detail/common_iarchive.hpp>
#include <boost/archive/detail/register_archive.hpp>
#include <boost/serialization/array_optimization.hpp>
#include <boost/serialization/array_wrapper.hpp>
#include <boost/serialization/collection_size_type.hpp>
#include <boost/serialization/detail/stack_constructor.hpp>
#include <boost/serialization/is_bitwise_serializable.hpp>
#include <boost/serialization/item_version_type.hpp>
#include <boost/serialization/wrapper.hpp>

#include "fiber/byte_stream.hpp"

namespace fiber::detail {

/// Reads what Boost's binary_oarchive wrote without a header, and believes none of it.
/// Boost's own binary_iarchive reserves what a length says, indexes tables with what the
/// bytes say, and lets a pointer refer to an object of another type.
///
/// Bytes that do not fit are an Error: a length beyond the bytes that are left, a class
/// or an object out of order, two owners of one object, values nested deeper than the
/// stack of the thread. A raw pointer that its class deletes can't be told from one that
/// only looks: if two of them claim an object, this class does not notice.
class InputArchive final : public boost::archive::detail::common_iarchive<InputArchive> {
  using Base = boost::archive::detail::common_iarchive<InputArchive>;
  using Serializer = boost::archive::detail::basic_iserializer;
  using PointerSerializer = boost::archive::detail::basic_pointer_iserializer;
  using FindSerializer =
    const PointerSerializer* (*)(const boost::serialization::extended_type_info&);

public:
  explicit InputArchive(std::span<const std::byte> bytes);
  ~InputArchive() override;

  std::size_t used() const { return used_; }
  std::size_t left() const { return bytes_.size() - used_; }
  /// Takes the next `n` bytes, without a copy.
  std::span<const std::byte> block(std::size_t n) {
    if (n > left())
      end_too_early(n);
    auto part = bytes_.subspan(used_, n);
    used_ += n;
    return part;
  }
  /// Says in an Error what is wrong at this place.
  [[noreturn]] void refuse(const std::string& what) const;

  // -- what containers ask

  /// Takes a number of elements. Elements that take no bytes are rare: beyond the bytes
  /// that are left there may be some 65,000 of them in a value.
  std::size_t count();
  /// Takes a number of elements of `size` bytes each.
  std::size_t count_of_size(std::size_t size);
  /// How many elements of `size` bytes in memory to make room for: all `n`, or as many as
  /// a small multiple of what is left.
  std::size_t room(std::size_t n, std::size_t size) const {
    return std::min(n, (16 * left() + 4096) / size);
  }
  /// Tells that the objects that were loaded since objects() was `first` have moved.
  void moved_since(std::size_t first);
  std::size_t objects() const { return objects_.size(); }
  /// Loads a pointer to an object that nothing else owns.
  template <class T>
  T* owned() {
    T* pointer = nullptr;
    *this >> pointer;
    claim(Owner::one);
    return pointer;
  }

  // -- what Boost asks of an archive

  struct use_array_optimization {
    template <class T>
    struct apply : boost::serialization::is_bitwise_serializable<T> {};
  };
  void load_binary(void* to, std::size_t n) {
    auto from = block(n);
    if (n > 0)
      std::memcpy(to, from.data(), n);
  }
  template <class T>
  void load_array(boost::serialization::array_wrapper<T>& array, unsigned) {
    if (array.count() > left() / sizeof(T))
      end_too_early(array.count());
    load_binary(array.address(), array.count() * sizeof(T));
  }
  template <class T>
  void load(T& primitive) {
    load_binary(&primitive, sizeof primitive);
  }
  void load(bool& flag);
  void load(std::string& text);
  void load(std::wstring& text);

  template <class T>
  void load_override(T& value) {
    if constexpr (std::is_pointer_v<T>) {
      using Type = boost::serialization::type_info_implementation<
        std::remove_cv_t<std::remove_pointer_t<T>>>;
      declared_ =
        &boost::serialization::singleton<typename Type::type>::get_const_instance();
      struct Null { // What has been loaded at its address is no more, or of another type.
        T* to;
        ~Null() {
          if (to != nullptr)
            *to = nullptr;
        }
      } unless_loaded{&value};
      Base::load_override(value);
      unless_loaded.to = nullptr;
    } else {
      using Wrapper = typename boost::serialization::is_wrapper<T>::type;
      if constexpr (std::is_class_v<T> && !Wrapper::value) // Which only names a value.
        begin(std::addressof(value));
      Base::load_override(value);
    }
  }
  void load_override(boost::serialization::collection_size_type& n) { n = count(); }
  void load_override(boost::archive::class_id_optional_type&) {} // Not in the bytes.
  void load_override(boost::archive::class_id_type& id);
  void load_override(boost::archive::object_id_type& id);
  void load_override(boost::archive::tracking_type& tracking);
  void load_override(boost::archive::class_name_type& name);

  void register_basic_serializer(const Serializer& serializer);
  void load_object(void* object, const Serializer& serializer);
  const PointerSerializer*
  load_pointer(void*& object, const PointerSerializer* serializer, FindSerializer find);
  /// std::shared_ptr and its kin ask for their helper when they have loaded a pointer.
  template <class Helper>
  Helper& get_helper(void* const id = nullptr) {
    claim(Owner::shared);
    return Base::template get_helper<Helper>(id);
  }

private:
  enum class Owner : char { none, one, shared };
  /// What Boost remembers of an object that more than one pointer may refer to.
  struct Object {
    std::size_t type;
    bool by_pointer;
    bool moved = false;
    Owner owner = Owner::none;
  };
  /// A pointer that is being loaded.
  struct Pointer {
    InputArchive& archive;
    const PointerSerializer* declared;
    const boost::serialization::extended_type_info& declared_type;
    void*& target;
    Pointer* outer;
    std::size_t type = 0;                ///< The class of what it refers to.
    std::optional<std::size_t> object{}; ///< What it refers to, if that is tracked.
    bool makes_object = true;            ///< Not a reference to one that was there.
    bool constructed = false;
    ~Pointer();
  };

  /// Notes that a value of a class is loaded to `value`.
  void begin(const void* value) {
    if (building_ != nullptr && value == building_->target)
      building_->constructed = true; // Also if it is nested too deeply.
    check_depth();
  }
  void check_depth() {
    auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (here < deepest_)
      check_stack(here);
  }
  void check_stack(std::uintptr_t here);
  void claim(Owner owner);
  std::size_t number_of(const Serializer& serializer);
  [[noreturn]] void end_too_early(std::size_t n) const;

  std::span<const std::byte> bytes_;
  std::size_t used_ = 0;
  std::size_t spare_;
  std::uintptr_t deepest_; ///< Below it the stack is looked at.
  bool stack_is_known_ = false;
  // The tables of Boost's own that ids are indexes of.
  std::vector<const Serializer*> types_;
  std::vector<Object> objects_;
  std::size_t type_ = 0;        ///< Of the object or pointer that is next.
  Pointer* pointer_ = nullptr;  ///< Null for an object.
  Pointer* building_ = nullptr; ///< The innermost pointer whose object is being loaded.
  const boost::serialization::extended_type_info* declared_ = nullptr;
  std::optional<std::size_t> last_pointer_to_;
};

/// Lets `load` read a value of the type `type` from `reader`. Throws Error for bytes that
/// are no such value.
void read_archive(Reader& reader, const std::type_info& type, void* value,
                  void (*load)(InputArchive& archive, void* value));

// -- containers that Boost would make as large as they say they are

template <class Items>
void load_sequence(InputArchive& archive, Items& items) {
  using Item = typename Items::value_type;
  const auto n = archive.count();
  boost::serialization::item_version_type version(0);
  archive >> version;
  items.clear();
  const auto first = archive.objects();
  constexpr bool moves = requires { items.capacity(); };
  if constexpr (moves)
    items.reserve(archive.room(n, sizeof(Item)));
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (moves)
      if (items.size() == items.capacity())
        archive.moved_since(first);
    if constexpr (std::is_default_constructible_v<Item>) {
      archive >> items.emplace_back();
    } else {
      boost::serialization::detail::stack_construct<InputArchive, Item> item(archive,
                                                                             version);
      archive >> item.reference();
      items.push_back(std::move(item.reference()));
      archive.reset_object_address(&items.back(), item.address());
    }
  }
}

template <class Items>
void load_hashed(InputArchive& archive, Items& items) {
  using Item = typename Items::value_type;
  const auto n = archive.count();
  std::uint64_t buckets = 0; // Ignored: as many as are needed will do.
  archive.load(buckets);
  boost::serialization::item_version_type version(0);
  archive >> version;
  items.clear();
  for (std::size_t i = 0; i < n; ++i) {
    const auto first = archive.objects();
    boost::serialization::detail::stack_construct<InputArchive, Item> item(archive,
                                                                           version);
    archive >> item.reference();
    const auto before = items.size();
    auto at = items.insert(items.end(), std::move(item.reference()));
    if (items.size() == before) { // A key that is there already: the item dies.
      archive.moved_since(first);
      continue;
    }
    if constexpr (requires { typename Items::mapped_type; })
      archive.reset_object_address(&at->second, &item.reference().second);
    else
      archive.reset_object_address(&*at, item.address());
  }
}

// Boost's functions find these by their archive.
template <class T, class A>
  requires(!std::is_same_v<T, bool>)
void load(InputArchive& archive, std::vector<T, A>& items, const unsigned) {
  if constexpr (boost::serialization::is_bitwise_serializable<T>::value) {
    items.resize(archive.count_of_size(sizeof(T)));
    archive.load_binary(items.data(), items.size() * sizeof(T));
  } else {
    load_sequence(archive, items);
  }
}
template <class T, class A>
void load(InputArchive& archive, std::deque<T, A>& items, const unsigned) {
  load_sequence(archive, items);
}
template <class T, class A>
void load(InputArchive& archive, std::list<T, A>& items, const unsigned) {
  load_sequence(archive, items);
}
template <class K, class T, class H, class E, class A>
void load(InputArchive& archive, std::unordered_map<K, T, H, E, A>& items,
          const unsigned) {
  load_hashed(archive, items);
}
template <class K, class T, class H, class E, class A>
void load(InputArchive& archive, std::unordered_multimap<K, T, H, E, A>& items,
          const unsigned) {
  load_hashed(archive, items);
}
template <class T, class H, class E, class A>
void load(InputArchive& archive, std::unordered_set<T, H, E, A>& items, const unsigned) {
  load_hashed(archive, items);
}
template <class T, class H, class E, class A>
void load(InputArchive& archive, std::unordered_multiset<T, H, E, A>& items,
          const unsigned) {
  load_hashed(archive, items);
}
template <class T>
void load(InputArchive& archive, std::unique_ptr<T>& pointer, const unsigned) {
  pointer.reset(archive.owned<T>());
}

} // namespace fiber::detail

BOOST_SERIALIZATION_REGISTER_ARCHIVE(fiber::detail::InputArchive)
BOOST_SERIALIZATION_USE_ARRAY_OPTIMIZATION(fiber::detail::InputArchive)
