// SPDX-License-Identifier: Apache-2.0
// Files that Fiber believes or changes in place, as OpenSSH's StrictModes looks at them:
// another user must not have been able to write them or to choose them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <sys/stat.h>
#include <sys/types.h>

#include "base/unique_fd.hpp"
#include "fiber/error.hpp"

namespace fiber {

/// A file or folder is there, but another user may have made or changed it, or it is of
/// another kind. what() names the path, what is wrong and what to do.
class UntrustedFile : public Error {
public:
  using Error::Error;
};

/// What else open_trusted() looks at.
struct TrustOptions {
  bool folder = false;  ///< The folder must be this user's or root's.
  bool devices = false; ///< Pipes and character devices are accepted, not only files.
  std::size_t max_bytes = std::string::npos; ///< read_trusted() returns no more.
};

/// Opens a file for `flags`, O_RDONLY, O_WRONLY or O_RDWR, and nothing else. With O_CREAT
/// a file that is not there is created with mode 0600. Does not wait for the other side
/// of a pipe.
///
/// The file must belong to this user or root, and only they may be able to write it (a
/// group that is its owner's alone may, too). A file that is opened to be written must
/// have one name: another user can give a file a second name in another folder. A link
/// is followed if it is this user's or root's.
///
/// Returns an empty descriptor and sets errno if the file can't be opened. Throws
/// UntrustedFile.
UniqueFd open_trusted(const std::string& path, int flags, TrustOptions options = {});

/// Returns the bytes of a file, opened by open_trusted(); nothing if there is none.
/// Throws UntrustedFile, and std::system_error if the file can't be read.
std::optional<std::string> read_trusted(const std::string& path,
                                        TrustOptions options = {});

/// Throws UntrustedFile unless what `fd` refers to belongs to this user or root, and only
/// they can write it. `name` is what the message calls it.
void check_trusted(int fd, std::string_view name);

/// Throws UntrustedFile unless the folder belongs to this user or root, and no other user
/// can rename or remove what this user has in it: nobody else can write there, or the
/// folder is sticky, as /tmp is. `advice` ends the message.
void check_private_names(const std::string& folder, std::string_view advice);

} // namespace fiber
