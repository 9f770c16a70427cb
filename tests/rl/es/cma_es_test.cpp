// SPDX-License-Identifier: Apache-2.0
// The update is that of an independent implementation, number by number, and the search
// needs as few evaluations. record_cma_es.py says where the numbers are from.

#include "fiber/rl/cma_es.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <numbers>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::rl {
namespace {

using Point = std::vector<double>;
using Function = double (*)(const Point&);

double sphere(const Point& x) {
  double sum = 0;
  for (double each : x)
    sum += each * each;
  return sum;
}

double rosenbrock(const Point& x) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i)
    sum += 100 * std::pow(x[i + 1] - x[i] * x[i], 2) + std::pow(1 - x[i], 2);
  return sum;
}

double rastrigin(const Point& x) {
  double sum = 0;
  for (double each : x)
    sum += 10 + each * each - 10 * std::cos(2 * std::numbers::pi * each);
  return sum;
}

std::vector<double> values_of(Function f, const std::vector<Point>& candidates) {
  std::vector<double> values;
  for (const auto& each : candidates)
    values.push_back(f(each));
  return values;
}

/// The lines of the recording.
class Recording {
public:
  /// The next line, which must begin with `name`, without that.
  std::string line(const std::string& name) {
    std::string text;
    std::getline(in_, text);
    EXPECT_TRUE(text.starts_with(name + " ")) << text;
    return text.substr(name.size() + 1);
  }
  std::vector<double> numbers(const std::string& name) {
    fiber::detail::Classic<std::istringstream> words(line(name));
    const fiber::detail::ClassicThread classic;
    std::vector<double> numbers;
    for (std::string word; words >> word;)
      numbers.push_back(std::strtod(word.c_str(), nullptr));
    return numbers;
  }
  /// The lines from the next one on that begin with `name`.
  std::vector<std::string> all(const std::string& name) {
    std::vector<std::string> found;
    for (std::string text; std::getline(in_, text);)
      if (text.starts_with(name + " "))
        found.push_back(text.substr(name.size() + 1));
    return found;
  }

private:
  fiber::detail::Classic<std::ifstream> in_{FIBER_CMA_RECORDING};
};

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-10 * std::max(1.0, std::abs(expected[i])))
      << what << " " << i;
}

void expect_the_same_run(Recording& recording) {
  std::size_t n = 0, population = 0, generations = 0;
  fiber::detail::Classic<std::istringstream>(recording.line("run")) >> n >> population >>
    generations;
  SCOPED_TRACE(std::to_string(n) + " variables");
  Point start(n);
  for (std::size_t i = 0; i < n; ++i)
    start[i] = -1 + 3.0 * static_cast<double>(i) / static_cast<double>(n - 1);
  CmaEs search(start, 0.7, 1, population);
  const auto& p = search.parameters();
  expect_near(p.weights, recording.numbers("weights"), "weights");
  expect_near({p.mu_eff, p.c_sigma, p.d_sigma, p.c_c, p.c_1, p.c_mu, p.chi_n},
              recording.numbers("constants"), "constants");
  for (std::size_t generation = 0; generation < generations; ++generation) {
    const auto flat = recording.numbers("candidates");
    std::vector<Point> candidates;
    for (auto row = flat.begin(); row != flat.end(); row += static_cast<long>(n))
      candidates.emplace_back(row, row + static_cast<long>(n));
    search.tell(candidates, recording.numbers("values"));
    const auto& state = search.state();
    expect_near(state.mean, recording.numbers("mean"), "mean");
    expect_near({state.sigma}, recording.numbers("sigma"), "sigma");
    expect_near(state.covariance, recording.numbers("covariance"), "covariance");
    expect_near(state.path_sigma, recording.numbers("path_sigma"), "path of sigma");
    expect_near(state.path_c, recording.numbers("path_c"), "path of C");
  }
}

TEST(CmaEsTest, parameters_and_updates_are_those_of_the_reference) {
  Recording recording;
  for (int run = 0; run < 3; ++run)
    expect_the_same_run(recording);
}

TEST(CmaEsTest, the_default_population_is_the_reference_s) {
  EXPECT_EQ(cma_parameters(2).population, 6u);
  EXPECT_EQ(cma_parameters(5).population, 8u);
  EXPECT_EQ(cma_parameters(10).population, 10u);
  EXPECT_EQ(cma_parameters(1).population, 4u);
}

/// Evaluations until a value below 1e-10; nothing if the search ends before.
std::optional<std::size_t> evaluations(Function f, CmaEs search) {
  for (std::size_t count = 0; !search.stop_reason() && count < 200'000;) {
    const auto values = values_of(f, search.ask());
    for (double value : values)
      if (++count; value < 1e-10)
        return count;
    search.tell(values);
  }
  return {};
}

TEST(CmaEsTest, needs_as_few_evaluations_as_the_reference) {
  const auto lines = Recording().all("convergence");
  ASSERT_EQ(lines.size(), 3u);
  for (const auto& line : lines) {
    std::string name;
    std::size_t n = 0, population = 0, solved = 0, median = 0;
    double start = 0, sigma = 0;
    fiber::detail::Classic<std::istringstream>(line) >> name >> n >> start >> sigma >>
      population >> solved >> median;
    const Function f = name == "sphere"       ? sphere
                       : name == "rosenbrock" ? rosenbrock
                                              : rastrigin;
    std::vector<std::size_t> counts;
    for (std::uint64_t seed = 1; seed <= 21; ++seed)
      if (const auto count =
            evaluations(f, CmaEs(Point(n, start), sigma, seed, population)))
        counts.push_back(*count);
    // Each search ends in a local minimum now and then; the reference's do, too.
    EXPECT_GE(counts.size() + 5, solved) << name;
    ASSERT_FALSE(counts.empty()) << name;
    std::ranges::sort(counts);
    const auto ours = static_cast<double>(counts[counts.size() / 2]);
    EXPECT_NEAR(ours / static_cast<double>(median), 1, 0.15) << name;
    RecordProperty(name, std::to_string(ours));
  }
}

TEST(CmaEsTest, the_search_depends_on_the_order_of_the_values_alone) {
  CmaEs plain(Point(4, 1.0), 0.5, 3), scaled(Point(4, 1.0), 0.5, 3);
  for (int i = 0; i < 20; ++i) {
    auto values = values_of(rosenbrock, plain.ask());
    plain.tell(values);
    for (auto& value : values)
      value = 1e6 * std::log(1 + value) - 17;
    scaled.tell(values);
  }
  EXPECT_EQ(plain.mean(), scaled.mean());
  EXPECT_EQ(plain.state().covariance, scaled.state().covariance);
}

TEST(CmaEsTest, goes_on_from_a_saved_state_as_if_nothing_had_happened) {
  auto run = [](CmaEs search, int generations) {
    for (int i = 0; i < generations; ++i)
      search.tell(values_of(rosenbrock, search.ask()));
    return search.state();
  };
  const auto whole = run(CmaEs(Point(6, 2.0), 0.5, 9), 30);
  const auto half = run(CmaEs(Point(6, 2.0), 0.5, 9), 13);
  const auto rest = run(CmaEs(half, 9), 17);
  EXPECT_EQ(rest.mean, whole.mean);
  EXPECT_EQ(rest.covariance, whole.covariance);
  EXPECT_EQ(rest.best, whole.best);
  EXPECT_NE(run(CmaEs(half, 10), 17).mean, whole.mean);
}

TEST(CmaEsTest, says_why_it_stops) {
  CmaEs search(Point(3, 1.0), 0.5);
  EXPECT_FALSE(search.stop_reason());
  while (!search.stop_reason())
    search.tell(values_of(sphere, search.ask()));
  EXPECT_EQ(search.stop_reason(), "the values have converged");
  EXPECT_LT(search.state().best_value, 1e-11);
  EXPECT_EQ(sphere(search.state().best), search.state().best_value);

  CmaEs slope(Point(3, 1.0), 1e-3);
  while (!slope.stop_reason())
    slope.tell(values_of([](const Point& x) { return x[0]; }, slope.ask()));
  EXPECT_NE(slope.stop_reason()->find("diverges"), std::string::npos);
}

TEST(CmaEsTest, infinity_marks_what_must_not_be_chosen) {
  CmaEs search(Point(3, 1.0), 0.5);
  const auto constrained = [](const Point& x) {
    return x[0] < 0.5 ? std::numeric_limits<double>::infinity() : sphere(x);
  };
  while (!search.stop_reason() && search.generation() < 1000)
    search.tell(values_of(constrained, search.ask()));
  EXPECT_NEAR(search.state().best_value, 0.25, 1e-6);
}

TEST(CmaEsTest, refuses_what_it_cannot_use) {
  EXPECT_THROW(CmaEs(Point(), 1), std::invalid_argument);
  EXPECT_THROW(CmaEs(Point{1, 2}, 0), std::invalid_argument);
  EXPECT_THROW(CmaEs(Point{1, std::nan("")}, 1), std::invalid_argument);
  EXPECT_THROW(CmaEs(Point{1, 2}, 1, 1, 3), std::invalid_argument);
  CmaEs search(Point{1, 2}, 1);
  EXPECT_THROW(search.tell(std::vector<double>(5)), std::invalid_argument);
  EXPECT_THROW(search.tell(std::vector<double>(6, std::nan(""))), std::invalid_argument);
  auto state = search.state();
  state.path_c.pop_back();
  EXPECT_THROW(CmaEs(state, 1), std::invalid_argument);
}

} // namespace
} // namespace fiber::rl
