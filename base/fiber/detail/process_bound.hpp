// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <coroutine>
#include <functional>
#include <source_location>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <typeindex>

// Trivially copyable types of the standard library whose object representation holds an
// address, or a number that means something in one process only.

namespace fiber::detail {

template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... Args>
inline constexpr bool is_a<Template<Args...>, Template> = true;

/// These hold the address of their category, and travel by its name.
template <class T>
inline constexpr bool is_error =
  std::is_same_v<T, std::error_code> || std::is_same_v<T, std::error_condition>;

/// These are refused.
template <class T>
inline constexpr bool is_process_bound =
  std::is_same_v<T, std::type_index> || std::is_same_v<T, std::thread::id> ||
  is_a<T, std::pmr::polymorphic_allocator>;
#ifdef __cpp_lib_coroutine
template <class Promise>
inline constexpr bool is_process_bound<std::coroutine_handle<Promise>> = true;
#endif
#ifdef __cpp_lib_source_location
template <>
inline constexpr bool is_process_bound<std::source_location> = true;
#endif
#if __cpp_lib_chrono >= 201907L
template <class Duration, class Zone>
inline constexpr bool is_process_bound<std::chrono::zoned_time<Duration, Zone>> = true;
#endif

/// What std::bind(), std::bind_front() and std::mem_fn() return, and std::not_fn() of
/// anything with members (a function counts): refused, as it may hold addresses.
template <class T>
inline constexpr bool is_standard_binder = std::is_bind_expression_v<T>;
#ifdef __GLIBCXX__
template <class Member>
inline constexpr bool is_standard_binder<std::_Mem_fn<Member>> = true;
template <class... Parts>
inline constexpr bool is_standard_binder<std::_Bind_front<Parts...>> = true;
template <class F>
inline constexpr bool is_standard_binder<std::_Not_fn<F>> = !std::is_empty_v<F>;
#endif

} // namespace fiber::detail
