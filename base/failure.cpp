// SPDX-License-Identifier: Apache-2.0
#include "base/failure.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <functional>
#include <future>
#include <ios>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <regex>
#include <system_error>
#include <typeinfo>
#include <utility>
#include <variant>

#include "base/demangle.hpp"
#include "fiber/remote_error.hpp"
#include "fiber/value.hpp"

namespace fiber {
namespace {

/// Exception types that the program named in rethrow_original<E>().
struct Throwables {
  std::mutex mutex;
  std::map<std::string, detail::Throwable> types;
};
Throwables& throwables() {
  static Throwables all;
  return all;
}

template <class E>
std::pair<const std::string, std::function<void(const std::string&)>> by_what() {
  return {typeid(E).name(), [](const std::string& what) { throw E(what); }};
}
template <class E>
std::pair<const std::string, std::function<void(const std::string&)>> by_type() {
  return {typeid(E).name(), [](const std::string&) { throw E(); }};
}

/// Returns how to rethrow the standard library's exceptions. rethrow() itself handles
/// those with more state than what().
const std::map<std::string, std::function<void(const std::string&)>>& standard() {
  static const std::map<std::string, std::function<void(const std::string&)>> throwers{
    by_what<std::logic_error>(),        by_what<std::invalid_argument>(),
    by_what<std::domain_error>(),       by_what<std::length_error>(),
    by_what<std::out_of_range>(),       by_what<std::runtime_error>(),
    by_what<std::range_error>(),        by_what<std::overflow_error>(),
    by_what<std::underflow_error>(),    by_type<std::bad_alloc>(),
    by_type<std::bad_cast>(),           by_type<std::bad_typeid>(),
    by_type<std::bad_exception>(),      by_type<std::exception>(),
    by_type<std::bad_function_call>(),  by_type<std::bad_optional_access>(),
    by_type<std::bad_variant_access>(), by_type<std::bad_array_new_length>(),
    by_type<std::bad_weak_ptr>(),       by_what<Error>()};
  return throwers;
}

/// Returns the standard library's error category with this name, or null.
const std::error_category* category(const std::string& name) {
  for (auto* known : {&std::generic_category(), &std::system_category(),
                      &std::iostream_category(), &std::future_category()})
    if (known->name() == name)
      return known;
  return nullptr;
}

void describe(Failure& failure) {
  try {
    throw;
  } catch (const std::system_error& error) {
    failure.what = error.what();
    if (typeid(error) == typeid(std::system_error)) {
      failure.name = typeid(std::system_error).name();
      Writer writer(failure.state);
      writer.text(error.code().category().name());
      writer.put(error.code().value());
    }
  } catch (const std::exception& error) {
    failure.what = error.what();
    if (standard().count(typeid(error).name()) > 0)
      failure.name = typeid(error).name();
  } catch (const std::string& text) {
    failure.what = text;
  } catch (const char* text) {
    failure.what = text == nullptr ? "" : text;
  } catch (int number) {
    failure.what = std::to_string(number);
  } catch (...) {
    failure.what = "(not a std::exception)";
  }
}

} // namespace

void detail::add_throwable(const std::type_info& type, Throwable throwable) {
  auto& all = throwables();
  std::lock_guard lock(all.mutex);
  all.types.insert_or_assign(type.name(), throwable);
}

Failure capture_failure() {
  Failure failure;
  auto* type = abi::__cxa_current_exception_type();
  if (type != nullptr)
    failure.type = demangle(type->name());
  describe(failure);
  if (type == nullptr)
    return failure;
  std::optional<detail::Throwable> own;
  {
    auto& all = throwables();
    std::lock_guard lock(all.mutex);
    if (auto found = all.types.find(type->name()); found != all.types.end())
      own = found->second;
  }
  if (own) {
    try {
      Bytes state;
      Writer writer(state);
      own->pack_current(writer);
      failure.state = std::move(state);
      failure.name = type->name();
    } catch (...) { // The failure can be described but not rethrown.
      failure.name.clear();
    }
  }
  return failure;
}

void rethrow(const Failure& failure) {
  if (failure.name.empty())
    return;
  std::optional<detail::Throwable> own;
  {
    auto& all = throwables();
    std::lock_guard lock(all.mutex);
    if (auto found = all.types.find(failure.name); found != all.types.end())
      own = found->second;
  }
  Reader reader(failure.state);
  if (own) {
    own->throw_packed(reader);
  } else if (failure.name == typeid(std::system_error).name()) {
    auto* known = category(reader.text());
    auto code = reader.get<int>();
    if (known != nullptr)
      throw std::system_error(code, *known, failure.what);
  } else if (auto found = standard().find(failure.name); found != standard().end()) {
    found->second(failure.what);
  }
}

} // namespace fiber
