// SPDX-License-Identifier: Apache-2.0
// The promise: what another process names by its place is a function here, and of the
// kind that it is called as; other places are refused with an error that says why.

#include "base/code_place.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "fiber/callable.hpp"
#include "fiber/detail/living_object.hpp"
#include "tests/base/shifted_place.hpp"

// A function, its cold part, which runs on the function's frame, and code that says
// nothing of itself. None of it is run.
asm(".pushsection .text\n"
    "fiber_test_function:\n.cfi_startproc\nnop\nnop\nnop\nnop\n"
    ".cfi_def_cfa_offset 64\nnop\nnop\nnop\nnop\n.cfi_endproc\n"
    "fiber_test_cold_part:\n.cfi_startproc\n.cfi_def_cfa_offset 64\n"
    "nop\nnop\nnop\nnop\n.cfi_endproc\n"
    "fiber_test_bare_code:\nnop\nnop\nnop\nnop\n"
    ".popsection");
extern "C" void fiber_test_function();
extern "C" void fiber_test_cold_part();
extern "C" void fiber_test_bare_code();

namespace fiber {
namespace {

using detail::code_of;
using detail::CodeKind;

int twice(int x) {
  return 2 * x;
}

std::unique_ptr<detail::Body> open_nothing(Reader&) {
  return nullptr;
}
std::unique_ptr<detail::LivingObject> make_nothing(Reader&) {
  return nullptr;
}
void call_nothing(detail::LivingObject&, Reader&, Writer&) {}

/// Never called: what it names is an entry point all the same.
[[maybe_unused]] auto name_entry_points() {
  return std::tuple(detail::entry<CodeKind::open, &open_nothing>(),
                    detail::entry<CodeKind::make_object, &make_nothing>(),
                    detail::entry<CodeKind::call_object, &call_nothing>());
}

Bytes packed(const void* code, CodeKind kind = CodeKind::function) {
  Bytes place;
  Writer writer(place);
  detail::pack_code(writer, code, kind);
  return place;
}

const void* unpacked(const Bytes& place, CodeKind kind = CodeKind::function) {
  Reader reader(place);
  return detail::unpack_code(reader, kind);
}

/// Returns the error of `f`, or "accepted".
template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}
std::string refusal(const Bytes& place, CodeKind kind) {
  return refusal([&] { unpacked(place, kind); });
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

constexpr CodeKind entry_kinds[] = {CodeKind::open, CodeKind::make_object,
                                    CodeKind::call_object};
const void* entry_of(CodeKind kind) {
  return kind == CodeKind::open          ? code_of(&open_nothing)
         : kind == CodeKind::make_object ? code_of(&make_nothing)
                                         : code_of(&call_nothing);
}

TEST(CodePlace, of_a_function_is_found_by_its_build) {
  auto* foreign =
    dlsym(RTLD_DEFAULT, "elf_version"); // From libelf, which has a build id.
  ASSERT_NE(foreign, nullptr);
  for (const auto* code : {code_of(&twice), code_of(&fiber_test_function),
                           static_cast<const void*>(foreign)})
    EXPECT_EQ(unpacked(packed(code)), code);
  auto place = packed(foreign);
  EXPECT_TRUE(is_loaded(Reader(place)));
}

TEST(CodePlace, in_the_middle_of_a_function_is_refused) {
  auto* foreign = dlsym(RTLD_DEFAULT, "elf_version");
  ASSERT_NE(foreign, nullptr);
  for (const auto* code :
       {code_of(&fiber_test_function), static_cast<const void*>(foreign)})
    for (std::uint64_t bytes = 1; bytes < 8; ++bytes) {
      auto why = refusal(behind(packed(code), bytes), CodeKind::function);
      EXPECT_TRUE(has(why, "no function: right is where one begins")) << why;
    }
  auto place = behind(packed(code_of(&twice)), 1);
  auto why = refusal(place, CodeKind::function);
  EXPECT_TRUE(has(why, "of the executable, is no function")) << why;
}

TEST(CodePlace, of_a_functions_cold_part_is_refused) {
  auto distance = reinterpret_cast<std::uintptr_t>(&fiber_test_cold_part) -
                  reinterpret_cast<std::uintptr_t>(&fiber_test_function);
  auto why =
    refusal(behind(packed(code_of(&fiber_test_function)), distance), CodeKind::function);
  EXPECT_TRUE(has(why, "is no function")) << why;
}

TEST(CodePlace, of_code_that_is_not_known_to_be_a_function_is_refused_to_the_sender) {
  auto why = refusal([] { packed(code_of(&fiber_test_bare_code)); });
  EXPECT_TRUE(has(why, "-fasynchronous-unwind-tables, or call it in a lambda")) << why;
}

TEST(CodePlace, of_an_entry_point_is_accepted_before_it_is_used) {
  for (auto kind : entry_kinds)
    EXPECT_EQ(unpacked(packed(entry_of(kind), kind), kind), entry_of(kind));
}

TEST(CodePlace, of_an_entry_point_of_another_kind_is_refused) {
  for (auto is : entry_kinds)
    for (auto asked : entry_kinds)
      if (is != asked) {
        auto why = refusal(packed(entry_of(is), is), asked);
        EXPECT_TRUE(has(why, "is no entry point that")) << why;
        EXPECT_THROW(packed(entry_of(is), asked), Error);
      }
}

TEST(CodePlace, of_a_function_that_is_no_entry_point_is_refused_as_one) {
  auto system = packed(dlsym(RTLD_DEFAULT, "system"));
  for (const auto& place : {packed(code_of(&twice)), system})
    for (auto kind : entry_kinds) {
      auto why = refusal(place, kind);
      EXPECT_TRUE(has(why, "is no entry point that")) << why;
      EXPECT_TRUE(has(why, "right is one of those that this build itself sends")) << why;
    }
}

TEST(CodePlace, behind_an_entry_point_is_refused) {
  for (auto kind : entry_kinds) {
    auto why = refusal(behind(packed(entry_of(kind), kind), 1), kind);
    EXPECT_TRUE(has(why, "is no entry point that")) << why;
  }
}

TEST(CodePlace, of_data_is_refused) {
  static int data = 0;
  EXPECT_THROW(packed(&data), Error);
}

TEST(CodePlace, outside_of_the_object_is_refused) {
  for (auto bytes : {std::uint64_t{1} << 40, UINT64_MAX / 2, UINT64_MAX - 64})
    EXPECT_THROW(unpacked(behind(packed(code_of(&twice)), bytes)), Error);
}

TEST(CodePlace, in_an_object_that_is_not_loaded_names_it) {
  for (std::string build : {"not a build id", ""}) {
    Bytes place;
    Writer writer(place);
    writer.text("/usr/lib/libmissing.so");
    writer.text(build);
    writer.put(std::uint64_t{64});
    EXPECT_FALSE(is_loaded(Reader(place)));
    auto why = refusal(place, CodeKind::function);
    EXPECT_TRUE(has(why, "/usr/lib/libmissing.so")) << why;
  }
}

TEST(CodePlace, the_executable_has_a_build_id) {
  EXPECT_GE(fiber::build_id().size(), 16U);
}

} // namespace
} // namespace fiber
