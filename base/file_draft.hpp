// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

namespace fiber {

/// A new version of a file: it is written to another file in the same folder, which takes
/// the place of the old version when it is whole. Readers find the old content or the new
/// one. A draft follows no link, and nobody can guess its name. If the process is killed,
/// nothing is left, unless the file system knows no unnamed files (as NFS). The file has
/// mode 0600, or the mode of this user's file that it replaces, without write bits for
/// others.
///
/// All functions throw std::system_error, which names the file's place.
class FileDraft {
public:
  /// Refuses a place that something other than a file or a link has: a folder, a device.
  explicit FileDraft(std::string path);
  /// Removes what was not published.
  ~FileDraft();
  FileDraft(const FileDraft&) = delete;
  FileDraft& operator=(const FileDraft&) = delete;

  void write(std::string_view bytes);
  /// Puts the file in its place, instead of what is there.
  void publish();
  /// The same, so that after a power loss the old file is there or the new one, whole.
  void publish_to_disk();

private:
  void open();
  [[noreturn]] void fail(int error) const;

  const std::string path_, name_; ///< The place, and the draft's own name.
  UniqueFd fd_;
  bool named_ = false; ///< Under its own name.
};

/// Publishes a FileDraft with this content. Throws std::system_error.
void replace_file(const std::string& path, std::string_view content);

} // namespace fiber
