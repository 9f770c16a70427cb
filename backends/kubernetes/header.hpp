// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace fiber::backends::kubernetes {

/// Returns whether `text` can be a header's value: it has no control character.
bool fits_header(std::string_view text);

/// Escapes `text` as part of a header's name, which the API server decodes.
std::string escape_header_name(std::string_view text);

} // namespace fiber::backends::kubernetes
