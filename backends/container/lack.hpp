// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fiber::backends {

/// A sign that a program lacked something in its container, and what to do about it.
struct Lack {
  std::string_view words; ///< Of the C library, in lower case.
  std::string_view advice;
};

/// Returns the advice for the first lack whose words are in the last 4 KiB of `text`, the
/// output of a job or the words of an engine; empty if there is none.
std::string advice_for(std::string_view text, std::span<const Lack> lacks);

} // namespace fiber::backends
