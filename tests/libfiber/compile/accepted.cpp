// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fiber/fiber.hpp>

class Scale { // Only Boost.Serialization has access.
public:
  Scale() = default;
  explicit Scale(std::vector<double> factors) : factors_(std::move(factors)) {}
  double operator()(double x) const { return x * factors_.front(); }

private:
  friend class boost::serialization::access;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    for (auto& factor : factors_)
      archive& factor;
  }
  std::vector<double> factors_;
};

struct Label { // Serialized by a free function in boost::serialization.
  std::string text;
};
namespace boost::serialization {
template <class Archive>
void serialize(Archive& archive, Label& label, unsigned) {
  archive& label.text;
}
} // namespace boost::serialization
Label label(int) {
  return {};
}

int add(int a, int b) {
  return a + b;
}
void nothing(int) {}
struct Wide { // Trivially copyable, with more members than are looked at.
  int numbers[40];
  char name[16];
  double scale = 1;
  unsigned low : 4, high : 4;
  std::array<float, 3> colour;
  std::chrono::seconds age;
  std::optional<int> parent;
  std::variant<int, float> weight;
};
Wide widen(const Wide& wide) {
  return wide;
}
int sum(const std::string& name, int value) {
  return static_cast<int>(name.size()) + value;
}
std::size_t length(const std::string& text) {
  return text.size();
}
std::size_t take(std::vector<double> values) {
  return values.size();
}

void use(fiber::Pool& pool) {
  std::vector<double> xs{1, 2};
  const std::list<int> items{1, 2};
  static_assert(std::is_same_v<decltype(pool.map(Scale(xs), xs)), std::vector<double>>);
  static_assert(std::is_same_v<decltype(pool.map(nothing, items)), void>);
  static_assert(
    std::is_same_v<decltype(pool.apply_async(nothing, 1)), fiber::Future<void>>);
  pool.map([](auto x) { return x + 1; }, items);
  pool.starmap(add, std::vector<std::pair<int, int>>{{1, 2}});
  pool.starmap_async(add, {std::tuple(1, 2)});
  const std::map<std::string, int> ages{{"Anna", 7}};
  pool.starmap(sum, ages); // Their items have const keys.
  pool.map([](const std::pair<const std::string, int>& item) { return item; }, ages);
  pool.map(
    fiber::bind([](const auto& item, int x) { return item.second + x; }, *ages.begin()),
    items);
  pool.apply([] { return std::tuple<const int, std::optional<const std::string>>(); });
  pool.apply([] { return std::array<const int, 2>{1, 2}; });
  pool.apply([] { return std::variant<const int, const std::string>(1); });
  pool.apply(widen, Wide());
  pool.apply([](std::error_code code) { return code.default_error_condition(); },
             std::make_error_code(std::errc::io_error));
  pool.apply(label, 1);
  pool.apply(length, "a literal");
  pool.apply_async(take, std::vector<double>(1000000)).cancel();
  for (auto sum : pool.imap(fiber::bind(add, 1), items))
    static_cast<void>(sum);
  for (auto&& outcome : pool.imap_unordered(nothing, {1, 2, 3}))
    outcome.value();
  pool.apply(std::not_fn([](int a) { return a > 0; }), 2);
  pool.apply(fiber::meta(add, {.cpu = 1}), 1, 2);
}
