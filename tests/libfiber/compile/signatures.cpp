// SPDX-License-Identifier: Apache-2.0
// What each function template returns.
#include <array>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fiber/fiber.hpp>

struct Robot {
  double speed = 0;
  const std::string& name() const { return text; }
  void stop() {}
  std::string text;
};
int next(int x) {
  return x + 1;
}
int add(int a, int b) {
  return a + b;
}
void nothing(int) {}
template <class A, class B>
inline constexpr bool is = std::is_same_v<A, B>;

void use_pool(fiber::Pool& pool, std::vector<int>& xs,
              std::vector<std::pair<int, int>>& pairs) {
  static_assert(is<decltype(pool.map(next, xs)), std::vector<int>>);
  static_assert(is<decltype(pool.map(next, {1, 2})), std::vector<int>>);
  static_assert(is<decltype(pool.map(nothing, xs)), void>);
  static_assert(is<decltype(pool.map_async(next, xs)), fiber::MapResult<int>>);
  static_assert(is<decltype(pool.starmap(add, pairs)), std::vector<int>>);
  static_assert(
    is<decltype(pool.starmap_async(add, {std::array{1, 2}})), fiber::MapResult<int>>);
  static_assert(is<decltype(pool.imap(next, xs)), fiber::ResultRange<int>>);
  static_assert(
    is<decltype(pool.imap_unordered(nothing, {1})), fiber::ResultRange<void>>);
  auto same = [](const std::string& text) -> const std::string& { return text; };
  static_assert(is<decltype(pool.apply(same, "text")), std::string>);
  static_assert(is<decltype(pool.apply_async(same, "text")), fiber::Future<std::string>>);
  static_assert(is<decltype(fiber::async(next, 1)), fiber::Future<int>>);
}

void use_futures(std::vector<fiber::Future<int>>& futures, fiber::Future<void> done) {
  static_assert(is<decltype(fiber::as_completed(futures)), fiber::CompletedRange<int>>);
  static_assert(is<decltype(futures[0].then(next)), fiber::Future<int>>);
  static_assert(is<decltype(done.then([] { return 1.5; })), fiber::Future<double>>);
}

void use_objects(fiber::Ref<Robot> robot, fiber::Value<int> value) {
  static_assert(is<decltype(robot.call<&Robot::name>()), std::string>);
  static_assert(is<decltype(robot.call<&Robot::speed>()), double>);
  static_assert(is<decltype(robot.async<&Robot::stop>()), fiber::Future<void>>);
  auto faster = [](Robot& each, double by) { return each.speed += by; };
  static_assert(is<decltype(robot.call(faster, 1.0)), double>);
  static_assert(is<decltype(value.apply([](int& x, int by) { x += by; }, 1)), void>);
}

void use_the_rest(fiber::Ring<double>& ring, fiber::Ring<void>& quiet) {
  static_assert(is<decltype(ring.run()), std::vector<double>>);
  static_assert(is<decltype(quiet.run()), void>);
  static_assert(
    is<decltype(fiber::bind(add, 1)), fiber::BoundCallable<int (*)(int, int), int>>);
  static_assert(
    is<decltype(fiber::meta(next, {.cpu = 2})), fiber::MeasuredCallable<int (*)(int)>>);
}
