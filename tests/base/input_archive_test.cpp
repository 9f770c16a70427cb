// SPDX-License-Identifier: Apache-2.0
// The promise: what a type archives comes back as Boost wrote it, and an archive that
// lies is an error of this value: no crash, no endless work, no memory beyond a small
// multiple of what arrived.

#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/serialization/array.hpp>
#include <boost/serialization/base_object.hpp>
#include <boost/serialization/deque.hpp>
#include <boost/serialization/export.hpp>
#include <boost/serialization/list.hpp>
#include <boost/serialization/map.hpp>
#include <boost/serialization/set.hpp>
#include <boost/serialization/shared_ptr.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/unique_ptr.hpp>
#include <boost/serialization/unordered_map.hpp>
#include <boost/serialization/unordered_set.hpp>
#include <boost/serialization/utility.hpp>
#include <boost/serialization/vector.hpp>
#include <gtest/gtest.h>

#include "fiber/value.hpp"

namespace fiber {
namespace {

/// A value whose only member is a T.
template <class T>
struct Box {
  T value{};
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& value;
  }
};

struct Item {
  int number = 0;
  std::string text;
  bool operator==(const Item&) const = default;
  auto operator<=>(const Item&) const = default;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& number& text;
  }
};

struct Animal {
  virtual ~Animal() = default;
  virtual std::string name() const = 0;
  template <class Archive>
  void serialize(Archive&, unsigned) {}
};
struct Dog : Animal {
  std::string called;
  std::string name() const override { return "dog " + called; }
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& boost::serialization::base_object<Animal>(*this) & called;
  }
};
struct Cat : Animal {
  std::array<double, 8> whiskers{};
  std::string name() const override { return "cat"; }
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& boost::serialization::base_object<Animal>(*this) & whiskers;
  }
};

struct Node {
  std::unique_ptr<Node> next;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& next;
  }
};

/// Large in memory, small in an archive.
struct Rare {
  std::array<char, 20'000> cache{};
  int number = 0;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& number;
  }
};

/// Two pointers, each of which owns.
struct Couple {
  std::unique_ptr<Item> a = std::make_unique<Item>(), b = std::make_unique<Item>();
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& a& b;
  }
};

template <class T>
Bytes packed(const T& value) {
  Bytes bytes;
  Writer writer(bytes);
  pack(writer, value);
  return bytes;
}

template <class T>
T unpacked(const Bytes& bytes) {
  Reader reader(bytes);
  auto copy = unpack<T>(reader);
  EXPECT_TRUE(reader.empty());
  return copy;
}

template <class T>
void expect_same(const T& value) {
  EXPECT_EQ(unpacked<Box<T>>(packed(Box<T>{value})).value, value);
}

/// What reading a damaged T says; empty if it can be read.
template <class T>
std::string complaint(const Bytes& bytes) {
  Reader reader(bytes);
  try {
    unpack<T>(reader);
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

/// Overwrites the first `what`, as it stands in an archive, by `by`.
template <class T>
Bytes with(Bytes bytes, T what, T by) {
  auto image = std::as_bytes(std::span(&what, 1));
  auto at = std::search(bytes.begin(), bytes.end(), image.begin(), image.end());
  EXPECT_NE(at, bytes.end());
  std::memcpy(&*at, &by, sizeof by);
  return bytes;
}

constexpr std::uint64_t lie = std::uint64_t{1} << 40;

/// Bounds what this process may ask for to some 256 MiB more than it has.
class LittleMemory {
public:
  LittleMemory() {
    getrlimit(RLIMIT_AS, &before_);
#if !defined(__SANITIZE_ADDRESS__) &&                                                    \
  !defined(__SANITIZE_THREAD__) // They reserve terabytes, and have their own limits.
    rlimit limit = before_;
    limit.rlim_cur = 1 << 30;
    setrlimit(RLIMIT_AS, &limit);
#endif
  }
  ~LittleMemory() { setrlimit(RLIMIT_AS, &before_); }

private:
  rlimit before_{};
};

template <class T>
void refuses_a_lie_about_its_length(const T& three) {
  auto text = complaint<Box<T>>(with<std::uint64_t>(packed(Box<T>{three}), 3, lie));
  EXPECT_NE(text.find("1099511627776"), std::string::npos) << text;
  EXPECT_NE(text.find("Box<"), std::string::npos) << text;    // The type,
  EXPECT_NE(text.find("at byte"), std::string::npos) << text; // and where.
  // A length that could be right as far as the bytes go.
  EXPECT_NE(complaint<Box<T>>(with<std::uint64_t>(packed(Box<T>{three}), 3, 20)), "");
}

} // namespace
} // namespace fiber

BOOST_CLASS_EXPORT(fiber::Dog)
BOOST_CLASS_EXPORT(fiber::Cat)

namespace fiber {
namespace {

TEST(InputArchive, brings_back_what_boost_wrote) {
  const Item item{7, "seven"};
  expect_same(item);
  expect_same(std::string("text"));
  expect_same(std::wstring(L"wide"));
  expect_same(std::vector<Item>{item, item});
  expect_same(std::vector<double>{1, 2, 3});
  expect_same(std::vector<bool>{true, false, true});
  expect_same(std::vector<std::vector<std::string>>{{"a", "b"}, {}, {"c"}});
  expect_same(std::deque<Item>{item});
  expect_same(std::list<Item>{item, item});
  expect_same(std::map<std::string, Item>{{"k", item}});
  expect_same(std::multimap<int, std::string>{{1, "a"}, {1, "b"}});
  expect_same(std::set<Item>{item});
  expect_same(std::unordered_map<std::string, Item>{{"k", item}, {"l", item}});
  expect_same(std::unordered_multimap<int, int>{{1, 2}, {1, 3}});
  expect_same(std::unordered_set<std::string>{"a", "b"});
  expect_same(std::unordered_multiset<int>{1, 1});
  expect_same(std::array<Item, 2>{item, item});
  expect_same(std::pair<Item, bool>{item, true});
}

TEST(InputArchive, brings_back_a_reserved_hash_table) {
  std::unordered_map<int, int> few{{1, 2}};
  few.reserve(1'000'000);
  expect_same(few);
}

TEST(InputArchive, brings_back_large_elements_that_archive_little) {
  Box<std::vector<Rare>> rare;
  rare.value.resize(300);
  rare.value.back().number = 9;
  auto copy = unpacked<Box<std::vector<Rare>>>(packed(rare));
  ASSERT_EQ(copy.value.size(), 300U);
  EXPECT_EQ(copy.value.back().number, 9);
}

TEST(InputArchive, brings_back_shared_objects_and_derived_ones) {
  using Zoo = std::vector<std::shared_ptr<Animal>>;
  auto dog = std::make_shared<Dog>();
  dog->called = "Rex";
  auto copy =
    unpacked<Box<Zoo>>(packed(Box<Zoo>{{dog, std::make_shared<Cat>(), dog, {}}}));
  ASSERT_EQ(copy.value.size(), 4U);
  EXPECT_EQ(copy.value[0]->name(), "dog Rex");
  EXPECT_EQ(copy.value[1]->name(), "cat");
  EXPECT_EQ(copy.value[2], copy.value[0]);
  EXPECT_EQ(copy.value[3], nullptr);
}

TEST(InputArchive, refuses_every_container_that_lies_about_its_length) {
  LittleMemory limit;
  const Item item{1, "x"};
  refuses_a_lie_about_its_length(std::string("abc"));
  refuses_a_lie_about_its_length(std::wstring(L"abc"));
  refuses_a_lie_about_its_length(std::vector<Item>(3, item));
  refuses_a_lie_about_its_length(std::vector<int>(3, 9));
  refuses_a_lie_about_its_length(std::deque<Item>(3, item));
  refuses_a_lie_about_its_length(std::list<Item>(3, item));
  refuses_a_lie_about_its_length(std::set<int>{7, 8, 9});
  refuses_a_lie_about_its_length(std::map<int, int>{{7, 7}, {8, 8}, {9, 9}});
  refuses_a_lie_about_its_length(std::unordered_map<int, int>{{7, 7}, {8, 8}, {9, 9}});
  refuses_a_lie_about_its_length(std::unordered_set<int>{7, 8, 9});
}

TEST(InputArchive, refuses_a_second_owner_of_an_object) {
  auto bytes = packed(Couple{});
  // Object 1, the only 1 in the archive besides class 1, becomes object 0.
  const std::array one{std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}};
  auto at = std::find_end(bytes.begin(), bytes.end(), one.begin(), one.end());
  ASSERT_NE(at, bytes.end());
  *at = std::byte{0};
  auto text = complaint<Couple>(bytes);
  EXPECT_NE(text.find("two owners claim object 0"), std::string::npos) << text;
}

TEST(InputArchive, refuses_an_object_of_another_type) {
  using Zoo = std::vector<std::shared_ptr<Animal>>;
  auto bytes = packed(Box<Zoo>{{std::make_shared<Dog>(), std::make_shared<Cat>()}});
  const auto name = std::as_bytes(std::span("fiber::Cat", 10));
  auto at = std::search(bytes.begin(), bytes.end(), name.begin(), name.end());
  ASSERT_NE(at, bytes.end());
  at += 10 + 1 + 4; // Behind the name stand the tracking and the version.
  ASSERT_EQ(*at, std::byte{1});
  *at = std::byte{0}; // The cat is where the dog is.
  auto text = complaint<Box<Zoo>>(bytes);
  EXPECT_NE(text.find("object 0, which is none of its type"), std::string::npos) << text;
}

TEST(InputArchive, refuses_a_class_that_nobody_exported) {
  using Zoo = std::vector<std::shared_ptr<Animal>>;
  auto bytes = packed(Box<Zoo>{{std::make_shared<Dog>()}});
  const auto name = std::as_bytes(std::span("fiber::Dog", 10));
  auto at = std::search(bytes.begin(), bytes.end(), name.begin(), name.end());
  ASSERT_NE(at, bytes.end());
  at[9] = std::byte{'t'};
  auto text = complaint<Box<Zoo>>(bytes);
  EXPECT_NE(text.find("\"fiber::Dot\", which is not exported here"), std::string::npos)
    << text;
}

TEST(InputArchive, refuses_what_is_nested_deeper_than_the_stack) {
  // A chain of this length can't be made, so its archive is: each node is as the second.
  auto chain = [](int n) {
    Node first;
    for (auto* last = &first; n > 1; --n)
      last = (last->next = std::make_unique<Node>()).get();
    return packed(first);
  };
  const auto three = chain(3), two = chain(2);
  auto bytes = two;
  const auto link = three.size() - two.size();
  bytes.resize(two.size() - 2); // Without the null at the end.
  for (std::uint32_t object = 2; object < 1'000'000; ++object) {
    auto begin = bytes.size();
    bytes.insert(bytes.end(), three.end() - 2 - static_cast<std::ptrdiff_t>(link),
                 three.end() - 2);
    std::memcpy(&bytes[begin + 2], &object, sizeof object);
  }
  EXPECT_EQ(complaint<Node>(chain(100)), "");
  auto text = complaint<Node>(bytes);
  EXPECT_NE(text.find("nested too deeply"), std::string::npos) << text;
}

/// Changes each byte of `value` to some others. Each result is a value or an Error.
template <class T>
void survives_damage(const T& value) {
  const auto good = packed(value);
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (auto byte : {0x00, 0x01, 0x02, 0x03, 0x7f, 0x80, 0xff}) {
      auto bad = good;
      bad[i] = std::byte(byte);
      complaint<T>(bad);
    }
    complaint<T>(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(i)));
  }
}

TEST(InputArchive, survives_the_damage_of_each_byte) {
  LittleMemory limit;
  const Item item{1, "text"};
  survives_damage(Box<std::vector<Item>>{{item, item}});
  survives_damage(Box<std::map<std::string, Item>>{{{"a", item}, {"b", item}}});
  survives_damage(Box<std::unordered_map<std::string, Item>>{{{"a", item}, {"b", item}}});
  survives_damage(Box<std::list<std::vector<double>>>{{{1, 2}, {}, {3}}});
  survives_damage(Box<std::vector<Rare>>{std::vector<Rare>(2)});
  survives_damage(Couple{});
  auto dog = std::make_shared<Dog>();
  survives_damage(
    Box<std::vector<std::shared_ptr<Animal>>>{{dog, std::make_shared<Cat>(), dog, {}}});
}

} // namespace
} // namespace fiber
