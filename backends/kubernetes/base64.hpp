// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fiber::backends::kubernetes {

/// Decodes base64 and ignores white space. Returns nothing if `text` is invalid.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

} // namespace fiber::backends::kubernetes
