// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <type_traits>

#include <fiber/fiber.hpp>

// What the tests of locks do with all of their kinds.

namespace fiber::e2e {

// A semaphore is locked as everything else.
template <class L>
void acquire(L& lock) {
  if constexpr (requires { lock.lock(); })
    lock.lock();
  else
    lock.acquire();
}
template <class L>
bool acquire_within(L& lock, std::chrono::milliseconds d) {
  if constexpr (requires { lock.lock(); })
    return lock.try_lock_for(d);
  else
    return lock.acquire(d);
}
template <class L>
void release(L& lock) {
  if constexpr (requires { lock.lock(); })
    lock.unlock();
  else
    lock.release();
}
/// One that one process has at a time.
template <class L>
L open_one() {
  if constexpr (std::is_default_constructible_v<L>)
    return L();
  else
    return L(1);
}

/// Adds to a number in a file, in steps that must not mix with another one's.
template <class L>
void count_up(const std::string& path, L lock, int times) {
  for (int i = 0; i < times; ++i) {
    acquire(lock);
    long count = 0;
    std::ifstream(path) >> count;
    std::ofstream(path) << count + 1;
    release(lock);
  }
}

/// The text of the Error that `f` throws.
inline std::string what_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

} // namespace fiber::e2e
