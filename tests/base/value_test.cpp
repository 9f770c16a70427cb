// SPDX-License-Identifier: Apache-2.0
// The promise: values come back equal from packing, and impossible bytes are refused.

#include "fiber/value.hpp"

#include <complex>
#include <future>
#include <list>
#include <map>
#include <set>
#include <system_error>
#include <unordered_map>

#include <boost/serialization/complex.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <gtest/gtest.h>

namespace fiber {
namespace {

template <class T>
Bytes packed(const T& value) {
  Bytes bytes;
  Writer writer(bytes);
  pack(writer, value);
  return bytes;
}

template <class T>
T there_and_back(const T& value) {
  auto bytes = packed(value);
  Reader reader(bytes);
  auto copy = unpack<T>(reader);
  EXPECT_TRUE(reader.empty());
  return copy;
}

template <class T>
void expect_same(const T& value) {
  EXPECT_EQ(there_and_back(value), value);
}

enum class Colour : char { red = 1, green = 7 };
struct Point {
  double x = 0, y = 0;
  bool operator==(const Point&) const = default;
};
struct Fixed { // Copied bytewise, although it has no default constructor.
  explicit Fixed(int v) : value(v) {}
  int value;
};

class Private {
public:
  Private() = default;
  explicit Private(std::vector<std::string> words) : words_(std::move(words)) {}
  bool operator==(const Private&) const = default;

private:
  friend class boost::serialization::access;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& words_;
  }
  std::vector<std::string> words_;
};

class Hidden { // Only Boost may default-construct it.
public:
  explicit Hidden(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }

private:
  friend class boost::serialization::access;
  Hidden() = default;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& text_;
  }
  std::string text_;
};

struct Counted { // Trivial, but with a serialize() of its own.
  int kept = 0, left = 0;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& kept;
  }
};

// Without an archive, though Boost offers a serialize() for it.
static_assert(detail::Flat<std::complex<float>>);

TEST(Value, simple_types_come_back_equal) {
  expect_same(42);
  expect_same(-1.5);
  expect_same(true);
  expect_same(Colour::green);
  expect_same(Point{1, 2});
  expect_same(std::complex<double>(1, 2));
  expect_same(std::string("with \0 inside", 13));
  expect_same(std::string());
  EXPECT_EQ(there_and_back(Fixed(7)).value, 7);
}

TEST(Value, containers_come_back_equal) {
  expect_same(std::vector<double>{1, 2, 3});
  expect_same(std::vector<double>{});
  expect_same(std::vector<bool>{true, false, true});
  expect_same(std::vector<Point>{{1, 2}, {3, 4}});
  expect_same(std::vector<std::vector<std::string>>{{"a"}, {}, {"b", "c"}});
  expect_same(std::array<std::string, 2>{"a", "b"});
  expect_same(std::array<double, 3>{1.5, -2, 1e300});
  expect_same(std::array<std::array<char, 2>, 2>{{{'a', 'b'}, {'c', 'd'}}});
  expect_same(std::array<int, 0>{});
  expect_same(std::map<std::string, std::vector<int>>{{"a", {1}}, {"b", {}}});
  expect_same(std::unordered_map<int, std::string>{{1, "x"}, {2, "y"}});
  expect_same(std::set<int>{3, 1, 2});
  expect_same(std::list<std::pair<int, std::string>>{{1, "x"}});
}

TEST(Value, sums_and_products_come_back_equal) {
  expect_same(std::pair<int, std::string>{1, "x"});
  expect_same(std::tuple<int, std::string, double>{1, "x", 2.5});
  expect_same(std::tuple<>{});
  expect_same(std::optional<std::string>{"x"});
  expect_same(std::optional<std::string>{});
  expect_same(std::variant<int, std::string>{"x"});
  expect_same(std::variant<std::monostate, int>{});
}

TEST(Value, other_types_are_archived_by_boost) {
  expect_same(Private({"a", "b"}));
  expect_same(std::vector<Private>{Private({"a"}), Private()});
  EXPECT_EQ(there_and_back(Hidden("secret")).text(), "secret");
}

TEST(Value, a_type_with_its_own_serialize_uses_it) {
  EXPECT_EQ(there_and_back(Counted{1, 2}).kept, 1);
  EXPECT_EQ(there_and_back(Counted{1, 2}).left, 0);
}

TEST(Value, const_parts_come_back_equal) {
  using Items = std::vector<std::pair<const std::string, int>>;
  auto items = there_and_back(Items{{"a", 1}, {"b", 2}});
  EXPECT_EQ(items, (Items{{"a", 1}, {"b", 2}}));
  expect_same(std::pair<const int, const std::string>(1, "b"));
  expect_same(std::tuple<const std::string, const double>("a", 1.5));
  expect_same(std::array<const int, 3>{1, 2, 3});
  expect_same(std::array<const std::string, 2>{"a", "b"});
  expect_same(std::optional<const std::string>("a"));
  expect_same(std::optional<const int>());
  expect_same(std::variant<const int, const std::string>("a"));
  expect_same(
    std::pair<const std::vector<std::pair<const int, char>>, bool>({{1, 'a'}}, true));
}

class OwnCategory : public std::error_category {
public:
  const char* name() const noexcept override { return "own"; }
  std::string message(int) const override { return "its own words"; }
};

TEST(Value, an_error_code_travels_as_its_category_and_value) {
  for (auto* category : {&std::generic_category(), &std::system_category(),
                         &std::iostream_category(), &std::future_category()}) {
    expect_same(std::error_code(2, *category));
    expect_same(std::error_condition(2, *category));
  }
  auto code = std::make_error_code(std::errc::io_error);
  expect_same(std::vector<std::error_code>{code, {}});
  expect_same(std::optional(code));
  expect_same(std::pair(1, std::array{code, code}));
  expect_same(std::map<std::string, std::error_code>{{"a", code}});
  // No address: the bytes are the same wherever the category lies.
  EXPECT_EQ(packed(code).size(),
            sizeof(std::uint64_t) + std::string("generic").size() + sizeof(int));
}

TEST(Value, an_error_code_of_another_category_is_refused) {
  const OwnCategory own;
  try {
    packed(std::error_code(1, own));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("category \"own\" can't be sent"),
              std::string::npos)
      << error.what();
  }
  Bytes bytes;
  Writer writer(bytes);
  writer.text("own");
  writer.put(1);
  Reader reader(bytes);
  EXPECT_THROW(unpack<std::error_code>(reader), Error);
}

TEST(Value, a_span_arrives_as_a_vector) {
  std::vector<int> data{1, 2, 3};
  auto bytes = packed(std::span<const int>(data));
  Reader reader(bytes);
  EXPECT_EQ(unpack<std::vector<int>>(reader), data);
}

TEST(Value, a_double_takes_eight_bytes) {
  EXPECT_EQ(packed(1.0).size(), sizeof(double));
}

TEST(Value, bytes_that_end_too_early_are_refused) {
  auto bytes =
    packed(std::tuple<int, std::string, std::vector<double>>{1, "text", {1, 2, 3}});
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    Reader reader{std::span<const std::byte>(bytes).first(n)};
    EXPECT_THROW((unpack<std::tuple<int, std::string, std::vector<double>>>(reader)),
                 Error)
      << n;
  }
}

TEST(Value, an_impossible_size_allocates_no_memory) {
  Bytes bytes;
  Writer(bytes).size(std::size_t{1} << 60);
  Reader reader(bytes);
  EXPECT_THROW(unpack<std::vector<double>>(reader), Error);
  Reader again(bytes);
  EXPECT_THROW(unpack<std::string>(again), Error);
  Reader list(bytes);
  EXPECT_THROW(unpack<std::list<std::string>>(list), Error);
  Reader nothings(bytes); // Each takes no byte, so that all of them could be there.
  EXPECT_THROW(unpack<std::vector<std::monostate>>(nothings), Error);
  Reader pairs(bytes);
  EXPECT_THROW((unpack<std::list<std::pair<std::monostate, std::monostate>>>(pairs)),
               Error);
}

TEST(Value, elements_without_content_arrive) {
  expect_same(std::vector<std::monostate>(1000));
  expect_same(
    std::vector<std::vector<std::monostate>>(3, std::vector<std::monostate>(9)));
}

TEST(Value, a_byte_that_is_no_bool_counts_as_true) {
  const Bytes bytes{std::byte{2}, std::byte{7}, std::byte{}, std::byte{}, std::byte{}};
  Reader reader(bytes);
  EXPECT_EQ(unpack<std::optional<int>>(reader), 7);
}

TEST(Value, an_alternative_that_does_not_exist_is_refused) {
  Bytes bytes;
  Writer(bytes).put(std::uint32_t{9});
  Reader reader(bytes);
  EXPECT_THROW((unpack<std::variant<int, double>>(reader)), Error);
}

} // namespace
} // namespace fiber
