// SPDX-License-Identifier: Apache-2.0
#include "actors/caf/actor_message.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include <caf/all.hpp>

#include "actors/caf/actor_port.hpp"
#include "base/demangle.hpp"
#include "base/never_destroyed.hpp"
#include "fiber/detail/caf/error.hpp"
#include "fiber/detail/type_identity.hpp"
#include "fiber/value.hpp"

namespace fiber::actors {
namespace {

/// The types that the program has declared. Libraries that are opened later add theirs.
struct MessageTypes {
  std::shared_mutex mutex;
  std::map<detail::TypeKey, MessageType> by_key;
  std::map<std::string, MessageType, std::less<>> by_name;
};
MessageTypes& message_types() {
  static auto& types = *never_destroyed<MessageTypes>();
  return types;
}

constexpr std::uint16_t declared = 0; ///< In place of the number of one of CAF's types.

[[noreturn]] void fail_undeclared(const std::string& name) {
  throw Error(
    "a " + name +
    " can't be sent to another process in a message: declare it with FIBER_MESSAGE(" +
    name + ")");
}

template <class T>
const T& as(const void* value) {
  return *static_cast<const T*>(value);
}

void pack_address(Writer& writer, const caf::actor_addr& address) {
  ActorPort::pack_here(writer, caf::actor_cast<caf::strong_actor_ptr>(address));
}
caf::actor_addr unpack_address(Reader& reader) {
  return caf::actor_cast<caf::actor_addr>(ActorPort::unpack(reader));
}

void pack_value(Writer& writer, const caf::actor& actor) {
  ActorPort::pack_here(writer, caf::actor_cast<caf::strong_actor_ptr>(actor));
}
void pack_value(Writer& writer, const std::vector<caf::actor>& list) {
  writer.size(list.size());
  for (auto& each : list)
    pack_value(writer, each);
}
void pack_value(Writer& writer, const std::vector<caf::actor_addr>& list) {
  writer.size(list.size());
  for (auto& each : list)
    pack_address(writer, each);
}
void pack_value(Writer& writer, const caf::actor_addr& address) {
  pack_address(writer, address);
}
void pack_value(Writer& writer, const caf::strong_actor_ptr& actor) {
  ActorPort::pack_here(writer, actor);
}
void pack_value(Writer& writer, const caf::weak_actor_ptr& actor) {
  ActorPort::pack_here(writer, actor.lock());
}
void pack_value(Writer& writer, const caf::error& error) {
  pack_error(writer, error);
}
void pack_value(Writer& writer, const caf::down_msg& down) {
  pack_address(writer, down.source);
  pack_error(writer, down.reason);
}
void pack_value(Writer& writer, const caf::exit_msg& exit) {
  pack_address(writer, exit.source);
  pack_error(writer, exit.reason);
}
void pack_value(Writer& writer, const caf::message& message) {
  pack_message(writer, message);
}
void pack_value(Writer&, const caf::unit_t&) {}
template <class T>
void pack_value(Writer& writer, const T& value) {
  pack<T>(writer, value);
}

template <class T>
struct Unpack {
  static T from(Reader& reader) { return unpack<T>(reader); }
};
template <>
struct Unpack<caf::strong_actor_ptr> {
  static auto from(Reader& reader) { return ActorPort::unpack(reader); }
};
template <>
struct Unpack<caf::actor> {
  static auto from(Reader& reader) {
    return caf::actor_cast<caf::actor>(ActorPort::unpack(reader));
  }
};
template <>
struct Unpack<caf::actor_addr> {
  static auto from(Reader& reader) { return unpack_address(reader); }
};
template <>
struct Unpack<caf::weak_actor_ptr> {
  static auto from(Reader& reader) {
    return caf::weak_actor_ptr(ActorPort::unpack(reader).get());
  }
};
template <class T>
  requires(std::is_same_v<T, caf::actor> || std::is_same_v<T, caf::actor_addr>)
struct Unpack<std::vector<T>> {
  static auto from(Reader& reader) {
    std::vector<T> list;
    for (auto n = reader.size(); n > 0; --n)
      list.push_back(Unpack<T>::from(reader));
    return list;
  }
};
template <>
struct Unpack<caf::error> {
  static auto from(Reader& reader) { return unpack_error(reader); }
};
template <>
struct Unpack<caf::down_msg> {
  static auto from(Reader& reader) {
    auto source = unpack_address(reader);
    return caf::down_msg{source, unpack_error(reader)};
  }
};
template <>
struct Unpack<caf::exit_msg> {
  static auto from(Reader& reader) {
    auto source = unpack_address(reader);
    return caf::exit_msg{source, unpack_error(reader)};
  }
};
template <>
struct Unpack<caf::message> {
  static auto from(Reader& reader) { return unpack_message(reader); }
};
template <>
struct Unpack<caf::unit_t> {
  static auto from(Reader&) { return caf::unit; }
};

/// Counts how deep messages lie within messages, since each takes some of the stack.
class NestingScope {
public:
  NestingScope() {
    if (++depth_ > most) {
      --depth_;
      throw Error("a message within " + std::to_string(most) + " others");
    }
  }
  ~NestingScope() { --depth_; }
  NestingScope(const NestingScope&) = delete;
  NestingScope& operator=(const NestingScope&) = delete;

private:
  static constexpr int most = 64;
  static thread_local int depth_;
};
thread_local int NestingScope::depth_ = 0;

/// How to pack and unpack one of CAF's types.
struct CafType {
  detail::TypeKey key;
  void (*pack)(Writer&, const void*);
  void (*append)(Reader&, caf::message_builder&);
};

template <class T>
CafType caf_type() {
  return {detail::type_key<T>(),
          [](Writer& writer, const void* value) { pack_value(writer, as<T>(value)); },
          [](Reader& reader, caf::message_builder& message) {
            message.append(Unpack<T>::from(reader));
          }};
}

template <class... Ts>
std::vector<CafType> caf_types(detail::Types<Ts...>) {
  return {caf_type<Ts>()...};
}

/// The number of a type in a packed message is its place here, from 1.
const std::vector<CafType>& numbered_types() {
  static const auto& types =
    *never_destroyed<std::vector<CafType>>(caf_types(detail::CafTypes()));
  return types;
}
const std::map<detail::TypeKey, std::uint16_t>& numbers() {
  using Numbers = std::map<detail::TypeKey, std::uint16_t>;
  static const auto& by_key = *never_destroyed<Numbers>([] {
    Numbers all;
    for (auto& type : numbered_types())
      all.emplace(type.key, static_cast<std::uint16_t>(all.size() + 1));
    return all;
  }());
  return by_key;
}

} // namespace

void declare_message(const MessageType& type) {
  auto& types = message_types();
  std::lock_guard lock(types.mutex);
  auto identified = type;
  identified.identity = detail::type_identity(*type.type);
  types.by_key.insert_or_assign(type.key, identified);
  types.by_name.insert_or_assign(identified.identity, identified);
}

void pack_message(Writer& writer, const detail::MessageContent& message) {
  writer.size(message.size());
  for (std::size_t i = 0; i < message.size(); ++i) {
    auto key = detail::type_key(message, i);
    auto* value = detail::value_at(message, i);
    if (auto number = numbers().find(key); number != numbers().end()) {
      writer.put(number->second);
      numbered_types()[number->second - 1U].pack(writer, value);
      continue;
    }
    auto& types = message_types();
    std::shared_lock lock(types.mutex);
    auto known = types.by_key.find(key);
    if (known == types.by_key.end())
      fail_undeclared(demangle(detail::type_name(message, i).c_str()));
    auto type = known->second;
    lock.unlock();
    writer.put(declared);
    writer.text(type.identity);
    type.pack(writer, value);
  }
}

caf::message unpack_message(Reader& reader) {
  const NestingScope scope;
  caf::message_builder message;
  for (auto n = reader.size(); n > 0; --n) {
    auto number = reader.get<std::uint16_t>();
    if (number != declared) {
      if (number > numbered_types().size())
        throw Error("a message holds a value of the unknown type " +
                    std::to_string(number));
      numbered_types()[number - 1U].append(reader, message);
      continue;
    }
    auto name = reader.text();
    auto& types = message_types();
    std::shared_lock lock(types.mutex);
    auto known = types.by_name.find(name);
    if (known == types.by_name.end())
      fail_undeclared(detail::name_in_identity(name));
    auto append = known->second.append;
    lock.unlock();
    append(reader, message);
  }
  return message.move_to_message();
}

namespace {

/// Packs an error whose category travels.
void pack_error_itself(Writer& writer, const caf::error& error) {
  writer.put(error.code());
  writer.put(error.category());
  Bytes context;
  Writer to(context);
  try {
    pack_message(to, error.context());
  } catch (const Error&) {
    context.clear();
    pack_message(to, caf::make_message(caf::to_string(error.context())));
  }
  writer.raw(context.data(), context.size());
}

} // namespace

void pack_error(Writer& writer, const caf::error& error) {
  writer.put(static_cast<bool>(error));
  if (!error)
    return;
  if (!detail::travels(error.category()))
    return pack_error_itself(
      writer, caf::make_error(caf::sec::runtime_error, caf::to_string(error)));
  pack_error_itself(writer, error);
}

caf::error unpack_error(Reader& reader) {
  if (!reader.get<bool>())
    return {};
  auto code = reader.get<std::uint8_t>();
  auto category = reader.get<detail::ErrorCategory>();
  if (!detail::travels(category))
    throw Error("an error of an unknown category");
  return detail::make_error(code, category, unpack_message(reader));
}

} // namespace fiber::actors
