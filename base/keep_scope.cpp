// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "fiber/callable.hpp"

namespace fiber::detail {
namespace {

thread_local KeepScope* innermost = nullptr;

} // namespace

KeepScope::KeepScope() : outer_(innermost) {
  innermost = this;
}
KeepScope::~KeepScope() {
  innermost = outer_;
}
KeptObjects KeepScope::take() {
  return std::exchange(kept_, {});
}
void KeepScope::keep(std::shared_ptr<const Held> object) {
  if (innermost != nullptr)
    innermost->kept_.push_back(std::move(object));
}

} // namespace fiber::detail
