// SPDX-License-Identifier: Apache-2.0
#include "base/standard_exceptions.hpp"

#include <any>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <ios>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <regex>
#include <stdexcept>
#include <system_error>
#include <typeinfo>
#include <utility>
#include <variant>
#if __has_include(<format>)
#include <format>
#endif

#include "base/never_destroyed.hpp"
#include "base/what.hpp"
#include "fiber/detail/type_identity.hpp"
#include "fiber/value.hpp"

namespace fiber {
namespace {

namespace fs = std::filesystem;
using detail::Throwable;

/// Gives an exception the text that the original one had. Its constructor would add to
/// the text what is there already.
template <class E>
void set_text(E& error, const std::string& text) {
  if constexpr (std::is_base_of_v<std::logic_error, E>)
    static_cast<std::logic_error&>(error) = std::logic_error(text);
  else
    static_cast<std::runtime_error&>(error) = std::runtime_error(text);
}

/// How to pack and make an `E`. This one is for types that have nothing but their text.
template <class E>
struct Standard {
  static void pack(Writer& writer, const E& error) {
    if constexpr (std::is_constructible_v<E, std::string>)
      writer.text(what_of(error));
  }
  static E unpack(Reader& reader) {
    if constexpr (std::is_constructible_v<E, std::string>)
      return E(reader.text());
    else
      return E();
  }
};

template <>
struct Standard<std::system_error> {
  static void pack(Writer& writer, const std::system_error& error) {
    fiber::pack(writer, error.code());
    writer.text(what_of(error));
  }
  static std::system_error unpack(Reader& reader) {
    std::system_error error(fiber::unpack<std::error_code>(reader));
    set_text(error, reader.text());
    return error;
  }
};

template <>
struct Standard<std::ios_base::failure> : Standard<std::system_error> {
  static std::ios_base::failure unpack(Reader& reader) {
    std::ios_base::failure error("");
    static_cast<std::system_error&>(error) = Standard<std::system_error>::unpack(reader);
    return error;
  }
};

template <>
struct Standard<std::future_error> {
  static void pack(Writer& writer, const std::future_error& error) {
    writer.put(error.code().value());
    writer.text(what_of(error));
  }
  static std::future_error unpack(Reader& reader) {
    std::future_error error(static_cast<std::future_errc>(reader.get<int>()));
    set_text(error, reader.text());
    return error;
  }
};

template <>
struct Standard<std::regex_error> {
  static void pack(Writer& writer, const std::regex_error& error) {
    writer.put(static_cast<int>(error.code()));
    writer.text(what_of(error));
  }
  static std::regex_error unpack(Reader& reader) {
    std::regex_error error(
      static_cast<std::regex_constants::error_type>(reader.get<int>()));
    set_text(error, reader.text());
    return error;
  }
};

/// The code of another process, which has its own words for it.
class ForeignCode : public std::error_category {
public:
  explicit ForeignCode(std::string message) : message_(std::move(message)) {}
  const char* name() const noexcept override { return "foreign"; }
  std::string message(int) const override { return message_; }

private:
  std::string message_;
};

/// Its what() is made by the constructor, from the text of its base and the paths.
template <>
struct Standard<fs::filesystem_error> {
  static void pack(Writer& writer, const fs::filesystem_error& error) {
    fiber::pack(writer, error.code());
    std::string base = error.std::system_error::what();
    auto message = error.code().message();
    if (auto end = ": " + message; base.ends_with(end))
      base.resize(base.size() - end.size());
    for (auto& text :
         {base, message, what_of(error), error.path1().native(), error.path2().native()})
      writer.text(text);
  }
  static fs::filesystem_error unpack(Reader& reader) {
    auto code = fiber::unpack<std::error_code>(reader);
    auto base = reader.text(), message = reader.text(), what = reader.text();
    fs::path one = reader.text(), two = reader.text();
    ForeignCode category(message);
    std::error_code words(code.value(), category);
    fs::filesystem_error error(base, one, two, words);
    if (what_of(error) != what) // It has an empty path for each that it was not given.
      error = two.empty() ? fs::filesystem_error(base, one, words) : error;
    if (what_of(error) != what)
      error = fs::filesystem_error(base, words);
    auto text = base + ": " + message;
    static_cast<std::system_error&>(error) = std::system_error(code);
    set_text(error, text);
    return error;
  }
};

template <>
struct Standard<std::bad_variant_access> {
  static void pack(Writer& writer, const std::bad_variant_access& error) {
    writer.text(what_of(error));
  }
  /// Only the library can give it a text: so the library throws it.
  static std::bad_variant_access unpack(Reader& reader) {
    struct Throws {
      explicit Throws(int) {}
      [[noreturn]] Throws(const Throws&) { throw 0; } // NOLINT: meant.
      Throws& operator=(const Throws&) = default;
    };
    std::variant<int, Throws> whole(0), valueless(0);
    try {
      const Throws source(0);
      valueless.emplace<Throws>(source);
    } catch (int) {
    }
    auto text = reader.text();
    std::bad_variant_access plain;
    auto matches = [&](auto access) {
      try {
        access();
      } catch (const std::bad_variant_access& error) {
        plain = error;
      }
      return what_of(plain) == text;
    };
    if (what_of(plain) == text || matches([&] { std::get<1>(whole); }) ||
        matches([&] { std::get<0>(valueless); }) ||
        matches([&] { std::visit([](auto&) {}, valueless); }) ||
        matches([&] { std::visit<void>([](auto&) {}, valueless); }))
      return plain;
    return {};
  }
};

#if __cpp_lib_chrono >= 201907L
/// The time that does not exist, or that exists twice, is in the text only.
template <class E>
  requires std::is_same_v<E, std::chrono::nonexistent_local_time> ||
           std::is_same_v<E, std::chrono::ambiguous_local_time>
struct Standard<E> {
  static void pack(Writer& writer, const E& error) { writer.text(what_of(error)); }
  static E unpack(Reader& reader) {
    using std::chrono::local_info;
    local_info info{}; // libstdc++ asserts that the result is the exception's.
    info.result = std::is_same_v<E, std::chrono::nonexistent_local_time>
                    ? local_info::nonexistent
                    : local_info::ambiguous;
    E error{std::chrono::local_seconds(), info};
    set_text(error, reader.text());
    return error;
  }
};
#endif

template <class E>
struct Throwing {
  static void pack_current(Writer& writer) {
    try {
      throw;
    } catch (const E& error) {
      Standard<E>::pack(writer, error);
    }
  }
  static void throw_packed(Reader& reader) { throw Standard<E>::unpack(reader); }
  static void throw_nested(Reader& reader) {
    std::throw_with_nested(Standard<E>::unpack(reader));
  }
};

/// Streams throw a type that is derived from std::ios_base::failure and has no public
/// name: so a stream throws it again.
struct StreamFailure : Throwing<std::ios_base::failure> {
  template <class Handle>
  static void thrown(Handle handle) {
    try {
      std::basic_ios<char> stream(nullptr);
      stream.exceptions(std::ios_base::badbit);
    } catch (std::ios_base::failure& error) {
      handle(error);
    }
  }
  static void throw_packed(Reader& reader) {
    thrown([&](std::ios_base::failure& error) {
      static_cast<std::system_error&>(error) =
        Standard<std::system_error>::unpack(reader);
      throw;
    });
  }
};

using StandardThrowables = std::map<std::string, Throwable>;

template <class... E>
void add(StandardThrowables& all) {
  (detail::for_thrown_types<E>([&](const std::type_info& type) {
     all.emplace(detail::type_identity(type),
                 Throwable{&Throwing<E>::pack_current, &Throwing<E>::throw_packed,
                           &Throwing<E>::throw_nested});
   }),
   ...);
}

StandardThrowables all_standard() {
  StandardThrowables all;
  add<std::exception, std::bad_exception, std::bad_alloc, std::bad_array_new_length,
      std::bad_cast, std::bad_typeid, std::bad_any_cast, std::bad_function_call,
      std::bad_optional_access, std::bad_variant_access, std::bad_weak_ptr>(all);
  add<std::logic_error, std::domain_error, std::invalid_argument, std::length_error,
      std::out_of_range, std::future_error>(all);
  add<std::runtime_error, std::range_error, std::overflow_error, std::underflow_error,
      std::regex_error, std::system_error, std::ios_base::failure, fs::filesystem_error,
      Error>(all);
#ifdef __cpp_lib_format
  add<std::format_error>(all);
#endif
#if __cpp_lib_chrono >= 201907L
  add<std::chrono::nonexistent_local_time, std::chrono::ambiguous_local_time>(all);
#endif
  StreamFailure::thrown([&](const std::ios_base::failure& error) {
    all.emplace(detail::type_identity(typeid(error)),
                Throwable{&StreamFailure::pack_current, &StreamFailure::throw_packed,
                          &StreamFailure::throw_nested});
  });
  return all;
}

} // namespace

const Throwable* standard_throwable(const std::string& identity) {
  static const auto& all = *never_destroyed<StandardThrowables>(all_standard());
  auto found = all.find(identity);
  return found == all.end() ? nullptr : &found->second;
}

} // namespace fiber
