// SPDX-License-Identifier: Apache-2.0
#include <list>
#include <string>
#include <tuple>
#include <utility>
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
  pool.apply(label, 1);
  pool.apply(length, "a literal");
  pool.apply_async(take, std::vector<double>(1000000)).cancel();
  for (auto sum : pool.imap(fiber::bind(add, 1), items))
    static_cast<void>(sum);
  for (auto&& outcome : pool.imap_unordered(nothing, {1, 2, 3}))
    outcome.value();
  pool.apply(fiber::meta(add, {.cpu = 1}), 1, 2);
}
