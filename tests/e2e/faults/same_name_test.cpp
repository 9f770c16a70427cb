// SPDX-License-Identifier: Apache-2.0
// The promise: a type is known by itself, not by its name. Two files may have types and
// functions of one name.
#include <stdexcept>

#include <fiber/config.hpp>
#include <fiber/error.hpp>

#include "tests/e2e/faults/same_name.hpp"
#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {
namespace {

const SameName one = one_file(), other = other_file();

template <class F>
std::string problem(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

class SameNames : public SessionTest {
protected:
  void SetUp() override { open(); }
};

TEST_F(SameNames, of_exceptions) {
  Pool pool(2);
  auto of_one = one.failure(pool), of_other = other.failure(pool);
  EXPECT_EQ(of_one.type(), of_other.type());
  EXPECT_EQ(one.rethrown(of_one), "of one file");
  EXPECT_EQ(other.rethrown(of_other), "of the other file");
#ifndef __clang__ // Its catch compares the names of types.
  EXPECT_EQ(one.rethrown(of_other), "not mine");
  EXPECT_EQ(other.rethrown(of_one), "not mine");
#endif
}

TEST_F(SameNames, in_a_pipe) {
  auto [receiver, sender] = pipe(false);
  one.send(sender);
  EXPECT_NE(problem([&] { other.receive(receiver); }).find("of another file was asked"),
            std::string::npos);
  EXPECT_EQ(one.receive(receiver), "of one file");
}

TEST_F(SameNames, in_a_checkpoint) {
  for (auto& checkpoint : {Checkpoint(), Checkpoint((folder() / "saved").string())}) {
    other.save(checkpoint);
    EXPECT_NE(problem([&] { one.load(checkpoint); }).find("of another file was asked"),
              std::string::npos);
    EXPECT_EQ(other.load(checkpoint), "of the other file");
  }
}

TEST_F(SameNames, of_supervised_objects) {
  Supervisor supervisor;
  one.spawn(supervisor, "object");
  EXPECT_NE(problem([] { other.find("object"); }).find("of another file was asked"),
            std::string::npos);
  EXPECT_EQ(one.find("object"), "of one file");
}

TEST_F(SameNames, of_functions_with_a_journal) {
  Pool pool(1);
  auto journal = (folder() / "journal").string();
  EXPECT_EQ(one.play(pool, journal), 1);
  EXPECT_NE(problem([&] { other.play(pool, journal); }).find("is of another call"),
            std::string::npos);
  EXPECT_EQ(one.play(pool, journal), 1);
}

} // namespace
} // namespace fiber::e2e
