// SPDX-License-Identifier: Apache-2.0
#include "libfiber/supervision/checkpoint_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.hpp"
#include "base/sync_folder.hpp"
#include "base/trusted_file.hpp"
#include "fiber/byte_stream.hpp"
#include "fiber/error.hpp"
#include "libfiber/storage/record.hpp"

namespace fiber::detail {
namespace {

constexpr std::array<char, 20> checkpoint_magic{"fiber checkpoint\r\n"};
constexpr std::uint32_t checkpoint_version = 1;

/// The file's header. The type's name and the value follow.
struct CheckpointHeader {
  std::array<char, 20> magic = checkpoint_magic;
  std::uint32_t crc = 0; ///< Covers all that follows.
  std::uint32_t version = checkpoint_version;
  std::uint32_t type_size = 0;
  std::uint64_t value_size = 0;

  std::uint32_t crc_of(std::span<const std::byte> type,
                       std::span<const std::byte> value) const {
    auto rest =
      std::as_bytes(std::span(this, 1)).subspan(offsetof(CheckpointHeader, version));
    return checksum(checksum(checksum(0, rest), type), value);
  }
};
static_assert(sizeof(CheckpointHeader) == 40);

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

} // namespace

void CheckpointFile::save(const std::string& type, std::span<const std::byte> value) {
  write_beside(type, value);
  try {
    keep_previous();
  } catch (...) {
    ::unlink((path_ + ".saving").c_str());
    throw;
  }
  if (std::rename((path_ + ".saving").c_str(), path_.c_str()) != 0)
    fail("written", errno);
  sync_folder_of(path_);
  is_whole_ = true;
}

/// Opens the file beside, new or left by a process that died, and locks it. Follows no
/// link and takes nobody else's file, which somebody may have put there in a folder that
/// others can write to.
UniqueFd CheckpointFile::open_beside() const {
  auto beside = path_ + ".saving";
  constexpr auto flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  UniqueFd fd(::open(beside.c_str(), flags | O_CREAT | O_EXCL, 0600));
  if (!fd && errno == EEXIST) {
    fd.reset(::open(beside.c_str(), flags));
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_uid != ::geteuid() || status.st_nlink != 1)
      throw Error("checkpoint " + path_ + " can't be written: " + beside +
                  " is another user's, or no plain file; remove it");
  }
  if (!fd)
    fail("written", errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error("checkpoint " + path_ +
                " can't be written: another process is saving to it");
  return fd;
}

void CheckpointFile::write_beside(const std::string& type,
                                  std::span<const std::byte> value) const {
  auto beside = path_ + ".saving";
  auto fd = open_beside();
  auto bytes = std::as_bytes(std::span(type));
  CheckpointHeader start;
  start.type_size = static_cast<std::uint32_t>(type.size());
  start.value_size = value.size();
  start.crc = start.crc_of(bytes, value);
  File file(::fdopen(fd.get(), "w"));
  if (!file)
    fail("written", errno);
  fd.release();
  auto write = [&](std::span<const std::byte> part) {
    return part.empty() ||
           std::fwrite(part.data(), 1, part.size(), file.get()) == part.size();
  };
  auto whole = ::ftruncate(::fileno(file.get()), 0) == 0 &&
               write(std::as_bytes(std::span(&start, 1))) && write(bytes) &&
               write(value) && std::fflush(file.get()) == 0 &&
               ::fsync(::fileno(file.get())) == 0;
  if (!whole) {
    auto error = errno;
    ::unlink(beside.c_str()); // Frees space: the disk may be full.
    fail("written", error);
  }
}

/// Makes the current file the previous one, unless it is damaged: a whole previous file
/// must survive. A hard link keeps the checkpoint under its name at any moment; where the
/// file system has no hard links, the name is missing until save() has renamed the new
/// file.
void CheckpointFile::keep_previous() {
  if (!is_whole_) {
    Saved ignored;
    auto state = read(path_, ignored);
    if (state == State::foreign && read(previous(), ignored) != State::whole)
      refuse();
    if (state != State::whole)
      return;
  }
  struct stat status {};
  if (::lstat(path_.c_str(), &status) != 0 && errno == ENOENT)
    return; // A save() that failed may have left only the previous file.
  ::unlink(previous().c_str());
  if (::link(path_.c_str(), previous().c_str()) != 0 &&
      std::rename(path_.c_str(), previous().c_str()) != 0)
    fail("written", errno);
}

std::optional<CheckpointFile::Saved> CheckpointFile::load() const {
  Saved saved;
  auto newest = read(path_, saved);
  if (newest == State::whole)
    return saved;
  if (read(previous(), saved) == State::whole) {
    if (newest != State::absent)
      log().warn("checkpoint {} is damaged; using the previous one", path_);
    return saved;
  }
  if (newest == State::absent)
    return std::nullopt;
  if (newest == State::foreign)
    refuse();
  throw Error("checkpoint " + path_ + " is damaged, and there is no previous one");
}

/// Opens a file that this user or root has written; as open(), it may fail.
UniqueFd CheckpointFile::open_to_read(const std::string& path) const {
  try {
    return open_trusted(path, O_RDONLY);
  } catch (const UntrustedFile& error) {
    throw Error("checkpoint " + path_ + " can't be read: " + error.what());
  }
}

CheckpointFile::State CheckpointFile::read(const std::string& path, Saved& saved) const {
  auto fd = open_to_read(path);
  if (!fd && errno == ENOENT)
    return State::absent;
  File file(fd ? ::fdopen(fd.get(), "r") : nullptr);
  if (!file)
    fail("read", errno);
  fd.release();
  struct stat status {};
  if (::fstat(::fileno(file.get()), &status) != 0)
    fail("read", errno);
  Bytes bytes(static_cast<std::size_t>(status.st_size));
  auto there = bytes.empty() ? 0 : std::fread(bytes.data(), 1, bytes.size(), file.get());
  if (std::ferror(file.get()) != 0)
    fail("read", errno);
  bytes.resize(there);
  CheckpointHeader start;
  auto head = std::min(there, checkpoint_magic.size());
  auto begins_with = [&](auto expected) {
    return std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(head),
                      reinterpret_cast<const std::byte*>(expected.data()));
  };
  if (!begins_with(checkpoint_magic)) // A power loss may leave zeros.
    return begins_with(std::array<char, checkpoint_magic.size()>{}) ? State::damaged
                                                                    : State::foreign;
  if (there < sizeof start)
    return State::damaged;
  start = Reader(bytes).get<CheckpointHeader>();
  auto rest = std::span<const std::byte>(bytes).subspan(sizeof start);
  if (start.type_size > rest.size() ||
      start.value_size != rest.size() - start.type_size ||
      start.crc !=
        start.crc_of(rest.first(start.type_size), rest.subspan(start.type_size)))
    return State::damaged;
  if (start.version != checkpoint_version)
    throw Error("checkpoint " + path + " has format " + std::to_string(start.version) +
                ", this program knows format " + std::to_string(checkpoint_version));
  saved.type.assign(reinterpret_cast<const char*>(rest.data()), start.type_size);
  auto size = static_cast<std::size_t>(start.value_size);
  saved.value = Payload(std::move(bytes)).slice(there - size, size);
  return State::whole;
}

void CheckpointFile::fail(const char* what, int error) const {
  throw Error("checkpoint " + path_ + " can't be " + what + ": " +
              std::generic_category().message(error));
}

void CheckpointFile::refuse() const {
  throw Error(path_ + " is no checkpoint of Fiber; it is left as it is");
}

} // namespace fiber::detail
