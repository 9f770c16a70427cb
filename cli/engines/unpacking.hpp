// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/unique_fd.hpp"

namespace fiber::cli {

/// A file or folder that comes as a tar archive from somebody who is not trusted, and
/// becomes `target`, or lands in it if that is a folder.
///
/// What comes is one file, or one folder of files, folders and symlinks that stay in it:
/// all else is refused. None of it is set-user-id, set-group-id or sticky, or of another
/// user. It is unpacked, as it comes, into a private folder, and moved from there. A
/// target that is a symlink is refused; one that ends in a slash may be a symlink to a
/// folder.
///
/// Thread safety: take() may be called by another thread than the rest, but not at the
/// same time.
class Unpacking {
public:
  /// `name` is that of the copy in a folder, `limit` how many bytes the archive may have.
  /// Throws Error.
  Unpacking(const std::string& target, const std::string& name, std::uint64_t limit);
  /// Removes what was unpacked, unless it was moved.
  ~Unpacking();
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;

  /// Takes the next piece of the archive. Blocks while it is written. Returns whether
  /// more is wanted.
  bool take(std::string_view piece);
  /// Moves the copy to its place, once the archive has come. Returns how many bytes its
  /// files have. Throws Error; then nothing has changed.
  std::size_t finish();

private:
  void choose_place(const std::string& target, const std::string& name);
  void start_tar();
  void await_tar();

  std::uint64_t limit_, taken_ = 0;
  bool too_large_ = false;
  UniqueFd place_;         ///< The folder that gets the copy.
  std::string name_;       ///< Of the copy there.
  std::string shown_;      ///< The path of the copy, for messages.
  std::string folder_;     ///< The private one.
  UniqueFd input_, words_; ///< Of tar.
  pid_t tar_ = 0;          ///< 0: has ended.
  int exit_status_ = 0;
};

} // namespace fiber::cli
