// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <boost/archive/binary_oarchive.hpp>

#include "fiber/detail/classic_locale.hpp"
#include "fiber/value.hpp"

namespace fiber::rl {

/// Replaces a file atomically: a reader finds the whole old content or the whole new one,
/// even after a crash or a loss of power. Only this user can read the file, unless it
/// replaces one with another mode. Throws std::system_error.
void write_atomically(const std::filesystem::path& path, std::string_view content);

/// What a file holds, in its first lines, as text: "KIND VERSION", then "KEY: VALUE" for
/// each setting. `head FILE` shows them.
struct FileLabel {
  std::string kind;     ///< One word, such as "fiber-ppo-checkpoint".
  unsigned version = 1; ///< Raise it when the content's format changes.
  /// What must be the same for the content to be of use, such as the environment and the
  /// network. Neither part may contain a line break.
  std::map<std::string, std::string> settings = {};
};

namespace detail {

/// The file that save_labelled() writes, and the content that it gives back.
std::string labelled(const FileLabel& label, std::string_view content);
std::string content_under(const std::filesystem::path& path, std::string_view file,
                          const FileLabel& label);
/// Nothing if there is no such file.
std::optional<std::string> whole_file(const std::filesystem::path& path);
void save_labelled(const std::filesystem::path& path, const FileLabel& label,
                   std::string_view content);
std::optional<std::string> load_labelled(const std::filesystem::path& path,
                                         const FileLabel& label);
/// A setting of the label of a file; empty if there is none, or no such file.
std::string setting_of(const std::filesystem::path& path, std::string_view key);
std::span<const std::byte> after_archive_head(const std::filesystem::path& path,
                                              std::string_view content);

/// Returns the content that save_state() gives a file. The opposite is state_in().
template <class State>
std::string content_of(const State& state) {
  fiber::detail::Classic<std::ostringstream> content(std::ios::binary);
  {
    boost::archive::binary_oarchive archive(content);
    archive << state;
  }
  return std::move(content).str();
}

/// Throws std::runtime_error, which begins with `path`.
template <class State>
State state_in(const std::filesystem::path& path, std::string_view content) {
  Reader reader(after_archive_head(path, content));
  try {
    return fiber::detail::unarchive<State>(reader);
  } catch (const Error& error) {
    throw std::runtime_error(
      path.string() + " was written by another version of this program: " + error.what());
  }
}

} // namespace detail

/// Returns the bytes of the file that save_state() writes: to send to another process.
/// Throws std::invalid_argument for a label that does not fit into its lines.
template <class State>
std::string pack_state(const FileLabel& label, const State& state) {
  return detail::labelled(label, detail::content_of(state));
}

/// The value whose bytes pack_state() returned. Throws as load_state() does; the error
/// begins with `name`, which says where the bytes come from.
template <class State>
State unpack_state(const std::filesystem::path& name, std::string_view bytes,
                   const FileLabel& label) {
  return detail::state_in<State>(name, detail::content_under(name, bytes, label));
}

/// Saves a value that Boost serialises, with write_atomically(). The file has a checksum,
/// which finds damage, not malice. The file can be read on machines with the same number
/// formats. Throws std::system_error, and std::invalid_argument for a label that does not
/// fit into its lines.
template <class State>
void save_state(const std::filesystem::path& path, const FileLabel& label,
                const State& state) {
  detail::save_labelled(path, label, detail::content_of(state));
}

/// What save_state() saved; nothing if there is no such file.
///
/// Throws std::runtime_error, which says why, if the file is of another kind or version,
/// is truncated or is damaged. It also throws if one of `label.settings` has another
/// value in the file, and names both values. Settings that `label` does not name are not
/// compared. A file that was made to do harm is refused, too, and takes no more memory
/// than a small multiple of its size.
template <class State>
std::optional<State> load_state(const std::filesystem::path& path,
                                const FileLabel& label) {
  auto content = detail::load_labelled(path, label);
  if (!content)
    return {};
  return detail::state_in<State>(path, *content);
}

} // namespace fiber::rl
