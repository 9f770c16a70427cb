// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace fiber::backends::kubernetes {

/// Whether `text` can be a header's value: no control character is in it.
bool fits_header(std::string_view text);

/// `text` as part of a header's name; the API server decodes it.
std::string escape_header_name(std::string_view text);

} // namespace fiber::backends::kubernetes
