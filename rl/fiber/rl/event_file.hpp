// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fiber::rl {

namespace storage {
class File;
}

/// A file of scalars that TensorBoard shows: TFRecords (length, data, and a masked
/// CRC-32C of each) of Event messages in protobuf's encoding. TensorBoard finds the file
/// in a folder if its name contains "tfevents".
///
/// Each call of add() is one write, so a reader sees whole records. After a crash the
/// last record may be cut off: TensorBoard ignores it then.
class EventFile {
public:
  using Scalars = std::vector<std::pair<std::string, double>>;

  /// Creates the file. `first_step` tells a TensorBoard that watches the folder to
  /// discard what it knows of this step and of later ones. Throws std::system_error, also
  /// if the file exists.
  EventFile(const std::filesystem::path& path, std::uint64_t first_step,
            double wall_time);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// Adds values by tag. Values become float32. `wall_time` is in seconds since 1970.
  /// Throws std::system_error.
  void add(std::uint64_t step, double wall_time, const Scalars& scalars);
  /// Returns when all is on the disk. Throws std::system_error.
  void sync();

  /// Truncates a file of this class: removes the first record of a step after `step`, or
  /// the first incomplete record, and all that follows. Throws std::system_error and
  /// std::runtime_error.
  static void drop_after(const std::filesystem::path& path, std::uint64_t step);

private:
  std::unique_ptr<storage::File> file_;
};

} // namespace fiber::rl
