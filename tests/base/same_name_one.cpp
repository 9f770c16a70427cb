// SPDX-License-Identifier: Apache-2.0
#include "base/failure.hpp"
#include "fiber/detail/type_identity.hpp"
#include "fiber/remote_error.hpp"
#include "tests/base/same_name.hpp"

namespace fiber {
namespace {

struct Failed {
  std::string text = "of one file";
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& text;
  }
};

} // namespace

void one_file::fail() {
  throw Failed();
}

std::string one_file::rethrown(const Failure& failure) {
  try {
    RemoteError(failure).rethrow_original<Failed>();
  } catch (const Failed& failed) {
    return failed.text;
  } catch (...) {
    return "not mine";
  }
}

std::string one_file::identity() {
  return detail::type_identity<Failed>();
}

} // namespace fiber
