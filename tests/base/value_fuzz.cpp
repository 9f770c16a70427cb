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

#include "fiber/value.hpp"

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
}

constexpr void (*types[])(std::span<const std::byte>) = {
  read<Everything>,
  read<std::vector<Item>>,
  read<std::unique_ptr<Item>>,
  read<std::vector<std::shared_ptr<Right>>>,
  read<std::vector<std::vector<std::string>>>,
  read<std::map<std::string, std::optional<std::vector<std::int64_t>>>>,
  read<std::tuple<bool, std::variant<int, std::string, std::vector<float>>, std::string>>,
  read<std::vector<std::monostate>>,
  read<std::set<std::pair<int, std::string>>>,
  read<std::list<std::array<std::string, 2>>>,
};

} // namespace
} // namespace fiber::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  try {
    fiber::fuzz::types[data[0] % std::size(fiber::fuzz::types)](
      std::as_bytes(std::span(data + 1, size - 1)));
  } catch (const fiber::Error&) { // What a caller is told.
  }
  return 0;
}
