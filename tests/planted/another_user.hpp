// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include <sys/types.h>
#include <unistd.h>

namespace fiber::tests {

/// The user "nobody", in the part of those who attack this one.
inline constexpr uid_t another_user = 65534;

/// Whether this process may act as another user.
inline bool can_be_another_user() {
  return ::geteuid() == 0;
}

/// Gives a file, a folder or a link itself to the other user.
inline bool give_away(const std::filesystem::path& path) {
  return ::lchown(path.c_str(), another_user, another_user) == 0;
}

} // namespace fiber::tests
