// SPDX-License-Identifier: Apache-2.0
// The promise: a host calls an object by an entry point for objects of its type, restores
// by one that unpacks a callable, and refuses any other place that a request names.
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "actors/manager/object_host.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "fiber/ref.hpp"
#include "tests/actors/objects/object_spaces.hpp"
#include "tests/base/shifted_place.hpp"

namespace fiber::actors {
namespace {

using detail::CodeKind;
using detail::ObjectOp;

struct Own {
  int value = 7;
};
struct Other {
  std::string text;
};
int value_of(Own& own) {
  return own.value;
}

template <CodeKind kind, auto f>
Bytes place() {
  Bytes bytes;
  Writer writer(bytes);
  detail::pack_entry<kind, f>(writer);
  return bytes;
}
const auto make_own = place<CodeKind::make_object, &detail::make_object<Own>>;
const auto read_own =
  place<CodeKind::call_object, &detail::call_object<Own, detail::Member<&Own::value>>>;
const auto read_other =
  place<CodeKind::call_object, &detail::call_object<Other, detail::Member<&Other::text>>>;
const auto call_own =
  place<CodeKind::call_object, &detail::call_object<Own, decltype(&value_of)>>;

Bytes together(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// A host with one object, an Own.
class ObjectCallTest : public ObjectSpaces {
protected:
  ObjectCallTest() { EXPECT_EQ(result(ObjectOp::create, make_own()), "done"); }

  /// Asks the host, and returns the value or the error's text.
  std::string result(ObjectOp op, const Bytes& rest) {
    Bytes body;
    Writer writer(body);
    writer.put(std::uint64_t{1});
    writer.put(op);
    std::string text = "no answer";
    at(0).ask(root->held_id(), AskKind::call, Payload(together(std::move(body), rest)),
              {}, [&](std::uint64_t, const ObjectAnswer& answer) {
                Reader reader(answer.body.bytes());
                text = answer.what == Answer::done ? "done"
                       : answer.what == Answer::value
                         ? std::to_string(unpack<int>(reader))
                         : read_failure(reader).what;
              });
    while (host->step())
      ;
    return text;
  }
  testing::AssertionResult refused(const Bytes& rest, const std::string& words) {
    auto text = result(ObjectOp::call, rest);
    return (text.find(words) != text.npos ? testing::AssertionSuccess()
                                          : testing::AssertionFailure())
           << text;
  }

  std::shared_ptr<ObjectHost> host =
    std::make_shared<ObjectHost>(1, at(0).shared_from_this(), nullptr);
  std::shared_ptr<ObjectHandle> root = at(0).add(host);
};

TEST_F(ObjectCallTest, by_an_entry_point_of_its_type_runs) {
  EXPECT_EQ(result(ObjectOp::call, read_own()), "7");
  Bytes function;
  Writer writer(function);
  detail::pack_code(writer, detail::code_of(&value_of), CodeKind::function);
  EXPECT_EQ(result(ObjectOp::call, together(call_own(), function)), "7");
}

TEST_F(ObjectCallTest, by_what_is_no_entry_point_is_refused) {
  for (auto bytes : {std::uint64_t{1}, std::uint64_t{2}, UINT64_MAX})
    EXPECT_TRUE(refused(behind(read_own(), bytes), "is no entry point that calls"));
  EXPECT_TRUE(refused(make_own(), "is no entry point that calls"));
  EXPECT_EQ(result(ObjectOp::call, read_own()), "7");
}

TEST_F(ObjectCallTest, by_an_entry_point_of_another_type_is_refused) {
  EXPECT_TRUE(refused(read_other(), "is called as if it were of type"));
  EXPECT_EQ(result(ObjectOp::call, read_own()), "7");
}

TEST_F(ObjectCallTest, with_a_pointer_into_a_function_is_refused) {
  Bytes function;
  Writer writer(function);
  detail::pack_code(writer, detail::code_of(&value_of), CodeKind::function);
  EXPECT_TRUE(
    refused(together(call_own(), behind(function, 1)), "right is where one begins"));
}

int restored = 0; // Callables are plain functions, so they find it only here.

TEST_F(ObjectCallTest, a_restore_callable_runs) {
  AnyCallable restore([] { ++restored; });
  Bytes rest;
  Writer writer(rest);
  detail::pack_code(writer, detail::code_of(restore.open()), CodeKind::open);
  auto state = restore.state().bytes();
  writer.raw(state.data(), state.size());
  restored = 0;
  EXPECT_EQ(result(ObjectOp::restore, rest), "done");
  EXPECT_EQ(restored, 1);
}

} // namespace
} // namespace fiber::actors
