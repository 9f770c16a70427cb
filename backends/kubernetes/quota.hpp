// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/http/client.hpp"

namespace fiber::backends::kubernetes {

/// Returns whether the server refused an object because a ResourceQuota is used up, and
/// would accept the object after others have gone: not if the object alone exceeds it.
bool is_used_up(const http::Reply& reply);

} // namespace fiber::backends::kubernetes
