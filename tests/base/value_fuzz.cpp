// SPDX-License-Identifier: Apache-2.0
// The first byte chooses a type; the rest should be a value of it. It is one or an Error.

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "fiber/callable.hpp"
#include "fiber/value.hpp"
#include "tests/fuzz/target.hpp"

#include <boost/serialization/base_object.hpp>
#include <boost/serialization/export.hpp>
#include <boost/serialization/list.hpp>
#include <boost/serialization/map.hpp>
#include <boost/serialization/shared_ptr.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/unique_ptr.hpp>
#include <boost/serialization/unordered_map.hpp>
#include <boost/serialization/utility.hpp>
#include <boost/serialization/vector.hpp>

namespace fiber::fuzz {

struct Item {
  int number = 0;
  std::string text;
  std::vector<double> numbers;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& number& text& numbers;
  }
};
struct Base {
  virtual ~Base() = default;
  template <class Archive>
  void serialize(Archive&, unsigned) {}
};
struct Left : Base {
  std::string text;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& boost::serialization::base_object<Base>(*this) & text;
  }
};
struct Right : Base {
  std::shared_ptr<Item> next; // A shared_ptr<Base> could make a ring, which leaks.
  std::vector<std::unique_ptr<Item>> items;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& boost::serialization::base_object<Base>(*this) & next& items;
  }
};
struct Everything {
  std::vector<std::shared_ptr<Base>> objects;
  std::vector<Item> items;
  std::map<std::string, Item> map;
  std::unordered_map<int, std::list<Item>> lists;
  std::vector<bool> flags;
  std::wstring wide;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& objects& items& map& lists& flags& wide;
  }
};

} // namespace fiber::fuzz

BOOST_CLASS_EXPORT(fiber::fuzz::Left)
BOOST_CLASS_EXPORT(fiber::fuzz::Right)

namespace fiber::fuzz {
namespace {

template <class T>
void read(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  static_cast<void>(unpack<T>(reader));
  ++taken;
}

template <class T>
std::string packed(const T& value) {
  Bytes bytes;
  Writer writer(bytes);
  pack(writer, value);
  return string_of(bytes);
}

const Item item{5, "five", {1.5, 2.5}};

Everything everything() {
  Everything all;
  auto left = std::make_shared<Left>();
  left->text = "left";
  auto right = std::make_shared<Right>();
  right->next = std::make_shared<Item>(item);
  right->items.push_back(std::make_unique<Item>(item));
  all.objects = {left, right, left, nullptr};
  all.items = {item, item};
  all.map = {{"a", item}};
  all.lists = {{1, {item, item}}};
  all.flags = {true, false};
  all.wide = L"wide";
  return all;
}

std::string right_ones() {
  auto right = std::make_shared<Right>();
  right->items.push_back(std::make_unique<Item>(item));
  return packed(std::vector<std::shared_ptr<Right>>{right, right});
}

using Choice =
  std::tuple<bool, std::variant<int, std::string, std::vector<float>>, std::string>;
using Deep = std::map<std::string, std::optional<std::vector<std::int64_t>>>;
using Strings = std::vector<std::vector<std::string>>;

int twice(int x) {
  return 2 * x;
}
using Bound = BoundCallable<int (*)(int), int>;

/// Reads a value of a type; makes a good one.
struct Type {
  void (*read)(std::span<const std::byte> bytes);
  std::string (*good)();
};
constexpr Type types[] = {
  {read<Everything>, [] { return packed(everything()); }},
  {read<std::vector<Item>>,
   [] {
     return packed(std::vector<Item>{item, item});
   }},
  {read<std::unique_ptr<Item>>, [] { return packed(std::make_unique<Item>(item)); }},
  {read<std::vector<std::shared_ptr<Right>>>, right_ones},
  {read<Strings>,
   [] {
     return packed(Strings{{"a", "bc"}, {}, {"def"}});
   }},
  {read<Deep>,
   [] {
     return packed(Deep{{"a", std::nullopt}, {"b", {{1, 2, 3}}}});
   }},
  {read<Choice>,
   [] {
     return packed(Choice{true, std::vector<float>{1, 2}, "text"});
   }},
  {read<std::vector<std::monostate>>,
   [] { return packed(std::vector<std::monostate>(3)); }},
  {read<std::set<std::pair<int, std::string>>>,
   [] {
     return packed(std::set<std::pair<int, std::string>>{{1, "a"}, {2, "b"}});
   }},
  {read<std::list<std::array<std::string, 2>>>,
   [] {
     return packed(std::list<std::array<std::string, 2>>{{"a", "b"}});
   }},
  {read<Bound>, [] { return packed(fiber::bind(&twice, 4)); }},
};

} // namespace
} // namespace fiber::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  try {
    fiber::fuzz::types[data[0] % std::size(fiber::fuzz::types)].read(
      std::as_bytes(std::span(data + 1, size - 1)));
  } catch (const fiber::Error&) { // What a caller is told.
  }
  return 0;
}

std::vector<std::string> fiber::fuzz::seeds() {
  std::vector<std::string> all;
  for (const auto& type : types)
    all.push_back(static_cast<char>(all.size()) + type.good());
  return all;
}
