// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fiber::backends::ssh {

/// The driver's program, and where its copies are on hosts: DIRECTORY/BUILD/NAME, with
/// the libraries that the host lacks in DIRECTORY/BUILD/lib.
struct RemoteProgram {
  std::string directory; ///< "~/.cache/fiber"
  std::string build;     ///< Its build id.
  std::string name;      ///< Letters, digits, '.', '_' and '-'.
  std::string path;      ///< Where it is here, and on hosts with the same file system.
};

/// The value of LD_LIBRARY_PATH before an agent was started with copies of libraries.
inline constexpr auto library_path_before = "FIBER_LIBRARY_PATH_BEFORE";

// Commands for the user's shell on a host, whichever that is: each is one line that
// starts /bin/sh. They print lines "@fiber NUMBER WORD ...", which are told from what the
// user's own start files print by the number.

/// Starts the agent. Prints "host MACHINE", then one of
///   starts PATH    the agent follows, or the end
///   needs          no copy is here. Wants "same SHA256", if it may look at `path`, or
///                  "go" once there is a copy
///   differs        the file at `path` is another. Wants "go".
/// If stdin ends instead, it removes the draft of a copy.
std::string start_command(const RemoteProgram& program, const std::string& number);
/// The same, but after "starts PATH" it wants what script_of() returns, prints "waits",
/// and then takes names of signals, one on each line, which it sends to the process of
/// run_command(). When stdin ends, it ends that process: by SIGTERM, and 10 s later by
/// SIGKILL.
std::string stand_by_command(const RemoteProgram& program, const std::string& number);
/// What run_command() runs.
struct RemoteProcess {
  std::string path;                               ///< From "starts PATH".
  std::vector<std::string> arguments;             ///< Without argv[0].
  std::string directory;                          ///< If the host has it; else the home.
  std::map<std::string, std::string> environment; ///< Besides what ssh sets.
};
/// Returns the process as a script. It goes through stdin, since other users can see
/// arguments of commands.
std::string script_of(const RemoteProgram& program, const RemoteProcess& process);
/// Runs the script of stand_by_command(), with the session's stdin, stdout and stderr.
/// Ends with the exit code of the program, or 128 + N for signal N.
std::string run_command(const RemoteProgram& program, const std::string& number);
/// Copies the program from stdin into a draft. Prints "problem WORDS" or "sum SHA256".
std::string copy_program_command(const RemoteProgram& program, const std::string& number);
/// Copies a library from stdin into the draft. Prints "sum SHA256".
std::string copy_library_command(const RemoteProgram& program, const std::string& number,
                                 const std::string& library);
/// Asks the host's loader what the draft needs. Prints "trace LINE" for each line of its
/// answer, and "traced EXIT-CODE".
std::string trace_command(const RemoteProgram& program, const std::string& number);
/// Makes the draft the copy, and removes copies that were not used for 30 days. Prints
/// "problem WORDS" or "copied".
std::string publish_command(const RemoteProgram& program, const std::string& number);

/// Returns an expression of sh for a text without NUL, as part of such a command.
std::string shell_word(const std::string& text);

/// Sets $d to a folder, in such a command. "~" is the user's home.
std::string set_folder(const std::string& directory);

/// Cuts what a host prints into lines.
class PrintedLines {
public:
  /// Takes the first line off `bytes`, or all of it, to be continued.
  std::optional<std::string> next(std::string_view& bytes);

private:
  std::string line_;
};

/// Returns what follows "@fiber NUMBER " in each line that has it.
std::vector<std::string> lines_for(std::string_view output, const std::string& number);

} // namespace fiber::backends::ssh
