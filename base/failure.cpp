// SPDX-License-Identifier: Apache-2.0
#include "base/failure.hpp"

#include <cxxabi.h>

#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "base/demangle.hpp"
#include "base/never_destroyed.hpp"
#include "base/standard_exceptions.hpp"
#include "base/what.hpp"
#include "fiber/detail/type_identity.hpp"
#include "fiber/remote_error.hpp"
#include "fiber/value.hpp"

namespace fiber {
namespace {

using detail::Throwable;

/// How many causes of an exception travel.
constexpr int max_causes = 32;

/// Exception types that the program named in rethrow_original<E>(), by identity.
struct Throwables {
  std::mutex mutex;
  std::map<std::string, Throwable> types;
};
Throwables& throwables() {
  static auto& all = *never_destroyed<Throwables>();
  return all;
}

std::optional<Throwable> find_throwable(const std::string& identity) {
  {
    auto& all = throwables();
    std::lock_guard lock(all.mutex);
    if (auto found = all.types.find(identity); found != all.types.end())
      return found->second;
  }
  auto* standard = standard_throwable(identity);
  return standard != nullptr ? std::optional(*standard) : std::nullopt;
}

/// The name of an exception's type. What std::throw_with_nested() throws is named as the
/// type that it was given.
std::string name_of(const std::type_info& type) {
  auto name = demangle(type.name());
  constexpr std::string_view nested = "std::_Nested_exception<";
  if (!name.starts_with(nested))
    return name;
  name = name.substr(nested.size(), name.size() - nested.size() - 1);
  return name.substr(0, name.find_last_not_of(' ') + 1);
}

/// The text of the exception that is being handled.
std::string current_text() {
  try {
    throw;
  } catch (const std::exception& error) {
    return what_of(error);
  } catch (const std::string& text) {
    return text;
  } catch (const char* text) {
    return text == nullptr ? "" : text;
  } catch (int number) {
    return std::to_string(number);
  } catch (...) {
    return "(not a std::exception)";
  }
}

/// The cause of the exception that is being handled; null if there is none.
std::exception_ptr current_cause() {
  try {
    throw;
  } catch (const std::nested_exception& error) {
    return error.nested_ptr();
  } catch (...) {
    return nullptr;
  }
}

Failure capture(int causes_left);

std::optional<Failure> capture_cause(int causes_left) {
  auto cause = causes_left > 0 ? current_cause() : nullptr;
  if (!cause)
    return std::nullopt;
  try {
    std::rethrow_exception(cause);
  } catch (...) {
    return capture(causes_left - 1);
  }
}

/// Adds what it takes to throw the exception that is being handled again.
void capture_state(Failure& failure, const std::type_info& type,
                   const std::optional<Failure>& cause) {
  auto identity = detail::type_identity(type);
  auto throwable = find_throwable(identity);
  if (!throwable)
    return;
  try {
    Writer writer(failure.state);
    writer.put(cause.has_value());
    if (cause)
      pack_failure(writer, *cause);
    throwable->pack_current(writer);
    failure.name = std::move(identity);
  } catch (...) { // The failure can be described but not rethrown.
    failure.state.clear();
  }
}

Failure capture(int causes_left) {
  Failure failure;
  failure.what = current_text();
  auto* type = abi::__cxa_current_exception_type();
  if (type == nullptr)
    return failure;
  failure.type = name_of(*type);
  auto cause = capture_cause(causes_left);
  capture_state(failure, *type, cause);
  if (cause)
    failure.what += (failure.what.empty() ? "caused by " : "; caused by ") + cause->type +
                    (cause->what.empty() ? "" : ": " + cause->what);
  return failure;
}

void rethrow(const Failure& failure, int causes_left) {
  if (failure.name.empty())
    return;
  auto throwable = find_throwable(failure.name);
  if (!throwable)
    return;
  Reader reader(failure.state);
  if (!reader.get<bool>())
    return throwable->throw_packed(reader);
  auto cause = unpack_failure(reader);
  try {
    if (causes_left > 0)
      rethrow(cause, causes_left - 1);
    throw RemoteError(std::move(cause));
  } catch (...) {
    throwable->throw_nested(reader);
  }
}

} // namespace

void detail::add_throwable(const std::type_info& type, Throwable throwable) {
  auto identity = type_identity(type);
  auto& all = throwables();
  std::lock_guard lock(all.mutex);
  all.types.insert_or_assign(std::move(identity), throwable);
}

void pack_failure(Writer& writer, const Failure& failure) {
  writer.text(failure.type);
  writer.text(failure.what);
  writer.text(failure.name);
  pack(writer, failure.state);
}

Failure unpack_failure(Reader& reader) {
  Failure failure;
  failure.type = reader.text();
  failure.what = reader.text();
  failure.name = reader.text();
  failure.state = unpack<Bytes>(reader);
  return failure;
}

Failure capture_failure() {
  return capture(max_causes);
}

void rethrow(const Failure& failure) {
  rethrow(failure, max_causes);
}

} // namespace fiber
