// SPDX-License-Identifier: Apache-2.0
#include "libfiber/journal/journal_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/code_place.hpp"
#include "base/log.hpp"
#include "base/sync_folder.hpp"
#include "base/trusted_file.hpp"
#include "libfiber/storage/record.hpp"
#include "wire/digest.hpp"

namespace fiber::detail {
namespace {

constexpr std::array<char, 16> magic{"fiber journal\r\n"};
constexpr std::uint32_t version = 1;

/// How the file begins.
struct Start {
  std::array<char, 16> magic = fiber::detail::magic;
  std::uint32_t version = fiber::detail::version;
  std::uint32_t size = 0; ///< Size of the description that follows.
  /// The process that has the file open, as text padded with zeros. No checksum covers
  /// it.
  std::array<char, 104> owner{};
};
static_assert(sizeof(Start) == 128);
/// Limit on the description's size.
constexpr std::uint32_t max_description = 1024 * 1024;

constexpr auto other_file = "another path, or this one once that file is removed";

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (auto byte : bytes) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

std::string host_name() {
  std::array<char, 64> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

std::string in_words(std::span<const char> text) {
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

} // namespace

/// The description: the call whose results the journal holds.
struct JournalFile::Head {
  std::uint32_t salt = 0;
  std::string build; ///< Build of the program; not compared.
  std::string function, argument, result;
  std::uint64_t result_size = 0;
  bool spread = false;
  Digest bound{};

  static Head of(const CallName& name) {
    return {std::random_device{}(),
            build_id(),
            name.function,
            name.argument,
            name.result,
            name.result_size,
            name.spread,
            wire::digest_of(name.bound)};
  }
  Bytes pack() const {
    Bytes bytes;
    Writer writer(bytes);
    writer.put(salt);
    for (auto& text : {build, function, argument, result})
      writer.text(text);
    writer.put(result_size);
    writer.put(spread);
    writer.put(bound);
    return bytes;
  }
  static Head unpack(Reader reader) {
    Head head;
    head.salt = reader.get<std::uint32_t>();
    for (auto* text : {&head.build, &head.function, &head.argument, &head.result})
      *text = reader.text();
    head.result_size = reader.get<std::uint64_t>();
    head.spread = reader.get<bool>();
    head.bound = reader.get<Digest>();
    return head;
  }
  bool same_call(const Head& other) const {
    return same_identity(function, other.function) &&
           same_identity(argument, other.argument) &&
           same_identity(result, other.result) && result_size == other.result_size &&
           spread == other.spread && bound == other.bound;
  }
  /// Describes the call in error messages.
  std::string text() const {
    return name_in_identity(function) + (spread ? " called with the parts of " : " on ") +
           name_in_identity(argument) + " giving " + name_in_identity(result) + " of " +
           std::to_string(result_size) + " bytes, bound values " +
           hex(std::span(bound).first(4));
  }
};

JournalFile::JournalFile(std::string path, const CallName& name)
  : path_(std::move(path)) {
  auto own = Head::of(name);
  if (name.handles)
    refuse("results of type " + name_in_identity(name.result) +
             " can't be kept: they refer to shared values or functions of this session",
           "a call whose results are values through and through");
  try {
    fd_ = open_trusted(path_, O_RDWR | O_CREAT);
  } catch (const UntrustedFile& error) {
    refuse(error.what(), "a file of this user that nobody else can write");
  }
  if (!fd_)
    fail("opened", errno);
  lock();
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0)
    fail("opened", errno);
  check_head(own, static_cast<std::uint64_t>(status.st_size));
  put_owner();
}

void JournalFile::lock() {
  while (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR)
      continue;
    if (errno != EWOULDBLOCK)
      fail("locked", errno);
    Start start;
    start.owner = {};
    read(0, std::as_writable_bytes(std::span(&start, 1)));
    auto owner = in_words(start.owner);
    refuse(path_ + " is in use by " + (owner.empty() ? "another call" : owner),
           "a file that no other call uses");
  }
}

void JournalFile::put_owner() {
  Start start;
  auto text = "process " + std::to_string(::getpid()) + " on " + host_name();
  std::copy_n(text.begin(), std::min(text.size(), start.owner.size() - 1),
              start.owner.begin());
  std::span<const std::byte> bytes = std::as_bytes(std::span(start.owner));
  write(offsetof(Start, owner), std::span(&bytes, 1));
}

// -- the head --

/// How the file begins.
Bytes JournalFile::image(const Head& head) {
  auto description = head.pack();
  Start start;
  start.size = static_cast<std::uint32_t>(description.size());
  Bytes all;
  Writer writer(all);
  writer.put(start);
  writer.raw(description.data(), description.size());
  writer.put(checksum(version, description));
  return all;
}

/// Returns whether the file holds only a part of a head, or nothing: a program was killed
/// while it created the file.
bool JournalFile::is_torn(Head own, std::uint64_t size) const {
  auto all = image(own);
  if (size >= all.size())
    return false;
  Bytes there(size);
  there.resize(read(0, there));
  // Salt and owner differ between files.
  constexpr auto owner_at = offsetof(Start, owner), salt_at = sizeof(Start),
                 rest_at = salt_at + sizeof own.salt;
  if (there.size() >= rest_at) {
    own.salt = Reader(std::span(there).subspan(salt_at)).get<std::uint32_t>();
    all = image(own);
  }
  auto same = [&](std::size_t from, std::size_t to) {
    to = std::min(to, there.size());
    return from >= to ||
           std::memcmp(there.data() + from, all.data() + from, to - from) == 0;
  };
  return same(0, owner_at) && same(rest_at, there.size());
}

void JournalFile::write_head(const Head& head) {
  auto all = image(head);
  std::span<const std::byte> bytes(all);
  write(0, std::span(&bytes, 1));
  salt_ = head.salt;
  end_ = all.size();
  sync();
  sync_folder_of(path_);
}

void JournalFile::check_head(const Head& own, std::uint64_t size) {
  if (is_torn(own, size)) {
    cut_off(0);
    write_head(own);
    return;
  }
  Start start;
  auto there = read(0, std::as_writable_bytes(std::span(&start, 1)));
  if (there < sizeof start || start.magic != magic)
    refuse(path_ + " is no journal of Fiber", other_file);
  if (start.version != version)
    refuse(path_ + " has format " + std::to_string(start.version) +
             ", this program knows format " + std::to_string(version),
           other_file);
  Bytes rest(std::min(start.size, max_description) + 4);
  std::span<const std::byte> description(rest.data(), rest.size() - 4);
  if (read(sizeof start, rest) < rest.size() ||
      Reader(std::span(rest).last(4)).get<std::uint32_t>() !=
        checksum(version, description))
    refuse(path_ + " is damaged: its first " +
             std::to_string(sizeof start + rest.size()) +
             " bytes, which say what it is of, can't be read",
           other_file);
  auto its = Head::unpack(Reader(description));
  if (!its.same_call(own))
    refuse(path_ + " is of another call: " + its.text() + "; this one is " + own.text(),
           other_file);
  if (its.build != own.build)
    log().warn("journal {} was begun by another build of this program; its results are "
               "taken as they are",
               path_);
  salt_ = its.salt;
  end_ = sizeof start + rest.size();
  read_records(size);
}

// -- records --

void JournalFile::read_records(std::uint64_t size) {
  JournalReader reader(
    [this](std::uint64_t offset, std::span<std::byte> to) { return read(offset, to); },
    salt_, end_, size);
  while (auto record = reader.next())
    places_.push_back({record->head.index, record->offset, record->head.size});
  for (auto& [from, to] : reader.damaged())
    log().warn(
      "journal {}: bytes {} to {} are damaged; the tasks whose results they were "
      "run again",
      path_, from, to);
  if (reader.end() < size) {
    log().info("journal {} ends in {} bytes of an incomplete record; its task runs again",
               path_, size - reader.end());
    cut_off(reader.end());
  }
  end_ = reader.end();
  // Of two records of a task the first counts.
  std::stable_sort(places_.begin(), places_.end(),
                   [](auto& a, auto& b) { return a.index < b.index; });
}

void JournalFile::cut_off(std::uint64_t size) {
  if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0)
    fail("written", errno);
}

std::optional<Payload> JournalFile::find(std::uint64_t index, const Digest& arguments) {
  if (next_ >= places_.size() || places_[next_].index != index) {
    auto place =
      std::lower_bound(places_.begin(), places_.end(), index,
                       [](auto& known, auto wanted) { return known.index < wanted; });
    next_ = static_cast<std::size_t>(place - places_.begin());
    if (place == places_.end() || place->index != index)
      return std::nullopt;
  }
  auto& place = places_[next_++];
  Bytes bytes(sizeof(RecordHead) + place.size);
  auto whole = read(place.offset, bytes) == bytes.size();
  auto head = Reader(bytes).get<RecordHead>();
  if (!whole || !head.fits(salt_) || head.index != index ||
      head.result_crc != checksum(salt_, std::span(bytes).subspan(sizeof head)))
    throw Error("journal " + path_ + " was changed by somebody else at byte " +
                std::to_string(place.offset) + " while it was in use");
  if (head.arguments != arguments)
    refuse(path_ + " is of other inputs: task " + std::to_string(index) +
             " had arguments " + hex(head.arguments) + " there, now it has " +
             hex(arguments),
           std::string("the same inputs in the same order, or ") + other_file);
  auto size = bytes.size() - sizeof head;
  return Payload(std::move(bytes)).slice(sizeof head, size);
}

void JournalFile::append(std::span<const Addition> additions) {
  // Small results are copied into one block with the record heads; large ones are
  // written from where they are.
  constexpr std::size_t small = 4096, block_size = 1024 * 1024, max_parts = 512;
  Bytes block;
  std::vector<std::span<const std::byte>> parts;
  while (!additions.empty()) {
    block.clear();
    // Must not reallocate: `parts` point into it.
    block.reserve(block_size + sizeof(RecordHead) + small);
    parts.clear();
    std::size_t begun = 0, bytes = 0;
    auto end_part = [&] {
      if (block.size() > begun)
        parts.push_back(std::span<const std::byte>(block).subspan(begun));
      begun = block.size();
    };
    while (!additions.empty() && block.size() < block_size && parts.size() < max_parts) {
      auto& [index, arguments, result] = additions.front();
      Writer writer(block);
      writer.put(RecordHead::of(salt_, index, arguments, result.bytes()));
      if (result.size() <= small) {
        writer.raw(result.bytes().data(), result.size());
      } else {
        end_part();
        parts.push_back(result.bytes());
      }
      bytes += sizeof(RecordHead) + result.size();
      additions = additions.subspan(1);
    }
    end_part();
    write(end_, parts);
    end_ += bytes;
  }
}

void JournalFile::sync() {
  if (::fdatasync(fd_.get()) != 0)
    fail("written", errno);
}

// -- the file --

std::size_t JournalFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    auto n = ::pread(fd_.get(), to.data() + done, to.size() - done,
                     static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      fail("read", errno);
    if (n == 0)
      break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

void JournalFile::write(std::uint64_t offset,
                        std::span<const std::span<const std::byte>> parts) {
  std::vector<iovec> left;
  left.reserve(parts.size());
  for (auto part : parts)
    left.push_back({const_cast<std::byte*>(part.data()), part.size()});
  std::span<iovec> rest(left);
  while (!rest.empty()) {
    auto n = ::pwritev(fd_.get(), rest.data(), static_cast<int>(rest.size()),
                       static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      fail("written", errno);
    offset += static_cast<std::uint64_t>(n);
    auto done = static_cast<std::size_t>(n);
    while (!rest.empty() && done >= rest.front().iov_len) {
      done -= rest.front().iov_len;
      rest = rest.subspan(1);
    }
    if (done > 0) {
      rest.front().iov_base = static_cast<std::byte*>(rest.front().iov_base) + done;
      rest.front().iov_len -= done;
    }
  }
}

void JournalFile::refuse(const std::string& problem, const std::string& valid) const {
  throw ConfigError("journal", "MapOptions", valid, problem);
}

void JournalFile::fail(const std::string& what, int error) const {
  throw Error(
    "journal " + path_ + " can't be " + what + ": " +
    std::generic_category().message(error) +
    (what == "written" ? "; its results are kept: the same call resumes from them" : ""));
}

} // namespace fiber::detail
