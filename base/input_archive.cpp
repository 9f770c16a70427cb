// SPDX-License-Identifier: Apache-2.0
#include "fiber/detail/input_archive.hpp"

#include <limits>
#include <utility>

#include <pthread.h>

#include <boost/archive/archive_exception.hpp>
#include <boost/archive/detail/archive_serializer_map.hpp>
#include <boost/archive/impl/archive_serializer_map.ipp>
#include <boost/serialization/extended_type_info.hpp>
#include <boost/serialization/void_cast.hpp>

#include "base/demangle.hpp"

namespace boost::archive::detail {

template class archive_serializer_map<fiber::detail::InputArchive>;

} // namespace boost::archive::detail

namespace fiber::detail {
namespace {

/// So many bytes of stack are taken without a look at how many there are.
constexpr std::size_t ordinary_depth = 64 * 1024;

/// The lowest address of this thread's stack that a value may reach: the last quarter is
/// left for what loads a leaf, and for the end of the value.
std::uintptr_t stack_floor() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    return std::numeric_limits<std::uintptr_t>::max(); // No more than ordinary_depth.
  void* lowest = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<std::uintptr_t>(lowest) + size / 4;
}

} // namespace

InputArchive::InputArchive(std::span<const std::byte> bytes)
  : Base(boost::archive::no_header | boost::archive::no_codecvt), bytes_(bytes),
    spare_(65536), deepest_(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) -
                            ordinary_depth) {}

InputArchive::~InputArchive() = default;

void InputArchive::refuse(const std::string& what) const {
  throw Error(what + " at byte " + std::to_string(used_) + " of " +
              std::to_string(bytes_.size()));
}

void InputArchive::end_too_early(std::size_t n) const {
  refuse("it needs " + std::to_string(n) + " more bytes or elements than there are");
}

void InputArchive::check_stack(std::uintptr_t here) {
  if (!stack_is_known_) {
    stack_is_known_ = true;
    deepest_ = std::min(deepest_, stack_floor());
  }
  if (here < deepest_)
    refuse("it is nested too deeply for the stack of this thread");
}

// -- lengths

std::size_t InputArchive::count() {
  std::uint64_t n = 0;
  load(n);
  if (n > left()) {
    if (n - left() > spare_)
      refuse("it announces " + std::to_string(n) + " elements, more than there can be");
    spare_ -= n - left();
  }
  return n;
}

std::size_t InputArchive::count_of_size(std::size_t size) {
  std::uint64_t n = 0;
  load(n);
  if (n > left() / size)
    refuse("it announces " + std::to_string(n) + " elements of " + std::to_string(size) +
           " bytes");
  return n;
}

void InputArchive::load(bool& flag) {
  std::uint8_t byte = 0;
  load(byte);
  if (byte > 1)
    refuse("it has a bool that is neither true nor false");
  flag = byte == 1;
}

void InputArchive::load(std::string& text) {
  auto n = count_of_size(1);
  auto part = block(n);
  text.assign(reinterpret_cast<const char*>(part.data()), n);
}

void InputArchive::load(std::wstring& text) {
  auto n = count_of_size(sizeof(wchar_t));
  text.resize(n);
  load_binary(text.data(), n * sizeof(wchar_t));
}

// -- classes and objects

std::size_t InputArchive::number_of(const Serializer& serializer) {
  auto found = std::find(types_.begin(), types_.end(), &serializer);
  if (found == types_.end()) // A shared library may have its own of the same type.
    found = std::find_if(types_.begin(), types_.end(), [&](const Serializer* known) {
      return !(*known < serializer) && !(serializer < *known);
    });
  if (found == types_.end())
    found = types_.insert(types_.end(), &serializer);
  return static_cast<std::size_t>(found - types_.begin());
}

void InputArchive::register_basic_serializer(const Serializer& serializer) {
  number_of(serializer);
  Base::register_basic_serializer(serializer);
}

void InputArchive::load_object(void* object, const Serializer& serializer) {
  type_ = number_of(serializer);
  pointer_ = nullptr;
  Base::load_object(object, serializer);
}

const InputArchive::PointerSerializer*
InputArchive::load_pointer(void*& object, const PointerSerializer* serializer,
                           FindSerializer find) {
  check_depth();
  object = nullptr;
  Pointer pointer{*this, serializer, *declared_, object,
                  std::exchange(building_, nullptr)};
  pointer_ = building_ = &pointer;
  const auto* actual = Base::load_pointer(object, serializer, find);
  if (object != nullptr && boost::serialization::void_upcast(
                             actual->get_eti(), pointer.declared_type, object) == nullptr)
    refuse("a pointer refers to an object of a class that does not fit");
  pointer.makes_object = false;
  last_pointer_to_ = pointer.object;
  return actual;
}

/// If an exception ends it, Boost forgets the object.
InputArchive::Pointer::~Pointer() {
  archive.building_ = outer;
  const bool owned = object && archive.objects_[*object].owner != Owner::none;
  if (makes_object && constructed && !owned)
    archive.types_[type]->destroy(target);
}

void InputArchive::load_override(boost::archive::class_id_type& id) {
  std::int16_t n = 0;
  load(n);
  id = boost::archive::class_id_type(n);
  if (n == -1) // A null pointer.
    return;
  const auto* declared = pointer_->declared;
  type_ = pointer_->type = static_cast<std::size_t>(n);
  const bool polymorphic =
    declared == nullptr || declared->get_basic_serializer().is_polymorphic();
  if (n < 0 || type_ > types_.size() || (type_ == types_.size() && !polymorphic) ||
      (!polymorphic && type_ != number_of(declared->get_basic_serializer())) ||
      (type_ < types_.size() && types_[type_]->get_bpis_ptr() == nullptr))
    refuse("a pointer names class " + std::to_string(n) + ", which can't be meant");
}

void InputArchive::load_override(boost::archive::class_name_type& name) {
  std::string text;
  load(text);
  if (text.size() >= BOOST_SERIALIZATION_MAX_KEY_SIZE ||
      text.find('\0') != std::string::npos)
    refuse("a pointer names a class by something that is no name");
  text.copy(name.t, text.size());
  name.t[text.size()] = '\0';
  const auto* type = boost::serialization::extended_type_info::find(name.t);
  const auto* found =
    type == nullptr
      ? nullptr
      : boost::archive::detail::archive_serializer_map<InputArchive>::find(*type);
  if (found == nullptr)
    refuse("a pointer names the class \"" + text +
           "\", which is not exported here: BOOST_CLASS_EXPORT must come after "
           "#include <fiber/value.hpp>");
  const auto& serializer =
    static_cast<const PointerSerializer*>(found)->get_basic_serializer();
  const auto next = types_.size();
  if (number_of(serializer) != next)
    refuse("a pointer names the class \"" + text + "\" a second time");
}

void InputArchive::load_override(boost::archive::tracking_type& tracking) {
  bool flag = false;
  load(flag);
  tracking = boost::archive::tracking_type(flag);
}

void InputArchive::load_override(boost::archive::object_id_type& id) {
  std::uint32_t n = 0;
  load(n);
  id = boost::archive::object_id_type(n);
  if (n > objects_.size() || (n < objects_.size() && objects_[n].type != type_))
    refuse("it refers to object " + std::to_string(n) + ", which is none of its type");
  const bool fresh = n == objects_.size();
  if (fresh)
    objects_.push_back({type_, pointer_ != nullptr});
  else if (pointer_ != nullptr && objects_[n].moved)
    refuse("a pointer refers to object " + std::to_string(n) + ", which has moved");
  if (pointer_ != nullptr) {
    pointer_->makes_object = fresh;
    pointer_->object = n;
  }
}

void InputArchive::moved_since(std::size_t first) {
  for (auto i = first; i < objects_.size(); ++i)
    objects_[i].moved = objects_[i].moved || !objects_[i].by_pointer;
}

void InputArchive::claim(Owner owner) {
  if (!last_pointer_to_)
    return;
  auto& object = objects_[*last_pointer_to_];
  if (!object.by_pointer || (object.owner != Owner::none &&
                             (object.owner == Owner::one || owner == Owner::one)))
    refuse("two owners claim object " + std::to_string(*last_pointer_to_));
  object.owner = owner;
}

void read_archive(Reader& reader, const std::type_info& type, void* value,
                  void (*load)(InputArchive& archive, void* value)) {
  const auto named = [&](const char* what) {
    return "a value of type " + demangle(type.name()) + " can't be read: " + what;
  };
  InputArchive archive(reader.rest());
  try {
    load(archive, value);
  } catch (const boost::archive::archive_exception& e) {
    throw Error(named(e.what()) + " at byte " + std::to_string(archive.used()));
  } catch (const Error& e) {
    throw Error(named(e.what()));
  }
  reader.raw(archive.used());
}

} // namespace fiber::detail
