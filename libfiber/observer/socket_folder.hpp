// SPDX-License-Identifier: Apache-2.0
#pragma once

// observer/ answers those who look at a session from outside, such as the command
// `fiber`: what there is to see (session_view), and the socket where it is asked for
// (observer_socket). Of libfiber/ it includes nothing but the public headers.

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace fiber::observer {

/// Returns whether `text` can be the name of a session: 1 to 40 letters, digits, '.', '_'
/// and '-', the first of them neither '.' nor '-'.
bool is_name(std::string_view text);
/// Returns the name of a session that was given none: PROGRAM-PID.
std::string default_name();

/// Returns the folders in which sessions of this user may have their sockets, the one for
/// new sessions first: $XDG_RUNTIME_DIR/fiber if the variable is set, /tmp/fiber-UID.
std::vector<std::string> socket_folders();
/// Returns why the folder must not be used, or nothing: it must be a directory, no
/// symbolic link, of this user, and no one else's to read or write. `missing` is returned
/// if there is none.
std::string folder_problem(const std::string& path);
inline constexpr std::string_view missing = "there is no such folder";
/// Makes the folder unless it exists. Throws std::runtime_error with the reason if it
/// cannot be used.
void make_folder(const std::string& path);
/// Makes the folder for a new session and returns it: the first of socket_folders() that
/// can be used. On a node of a cluster, $XDG_RUNTIME_DIR may be a folder that only the
/// login node has. Throws std::runtime_error with what is wrong with each.
std::string make_session_folder();

/// The file of a session's socket: NAME.PID.sock.
struct SocketFile {
  std::string name;
  pid_t pid = 0;
  std::string path;
};
std::string socket_path(const std::string& folder, const std::string& name, pid_t pid);
/// Returns the sockets in a folder, by name and pid.
std::vector<SocketFile> sockets_in(const std::string& folder);

} // namespace fiber::observer
