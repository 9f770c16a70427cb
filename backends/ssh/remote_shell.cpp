// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/remote_shell.hpp"

#include <array>
#include <cstdio>
#include <initializer_list>

#include "backends/ssh/agent.hpp"

// The scripts have no newline, no single quote and no '!', so that every shell passes
// them on as they are, also fish and csh.

namespace fiber::backends::ssh {

namespace {

std::string repeated(const std::string& pattern, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i)
    all += pattern;
  return all;
}

std::string script(std::initializer_list<std::string> commands) {
  std::string text = "exec /bin/sh -c '";
  for (auto& command : commands)
    text += command + (command.ends_with(";;") || command.ends_with("do") ? " " : "; ");
  return text + "'";
}

std::string variables(const RemoteProgram& program, const std::string& number) {
  return "umask 077; n=" + number + "; " + set_folder(program.directory) + "; b=$d/" +
         program.build + "; t=$d/.fiber-$n; e=" + program.name;
}

constexpr auto say = "say() { echo \"@fiber $n $*\"; }";
// Whether a folder is this user's and no other user can write it.
constexpr auto own = "own() { set -- $(stat -Lc \"%u %a\" \"$1\" 2>/dev/null); "
                     "[ \"$1\" = \"$(id -u)\" ] || return 1; "
                     "case $2 in *[2367]|*[2367]?) return 1;; esac; }";
// Asks the loader. A program without one runs instead: as an agent, which ends at once.
const std::string trace =
  "FIBER_NODE=" + std::string(agent_role) + ":trace LD_TRACE_LOADED_OBJECTS=1 ";
constexpr auto sum = "sum() { say sum \"$(sha256sum <\"$1\" | cut -d\" \" -f1)\"; }";

} // namespace

std::string shell_word(const std::string& text) {
  std::string octal;
  for (unsigned char c : text) {
    std::array<char, 8> digits{};
    std::snprintf(digits.data(), digits.size(), "\\0%03o", static_cast<unsigned>(c));
    octal += digits.data();
  }
  return "\"$(printf %b \"" + octal + "\")\"";
}

std::string set_folder(const std::string& directory) {
  return "d=" + shell_word(directory) +
         "; case $d in \"~\") d=$HOME;; \"~/\"*) d=$HOME/${d#\"~/\"};; esac";
}

std::string start_command(const RemoteProgram& program, const std::string& number) {
  const std::string before = library_path_before;
  return script(
    {variables(program, number), say, own, "p=" + shell_word(program.path),
     "start() { say starts \"$1\"; " + before + "=$LD_LIBRARY_PATH; if [ -d \"$2\" ]; " +
       "then LD_LIBRARY_PATH=$2${LD_LIBRARY_PATH:+:}$LD_LIBRARY_PATH; "
       "export LD_LIBRARY_PATH; fi; FIBER_NODE=" +
       agent_role + ":$n; export FIBER_NODE " + before + "; exec \"$1\"; }",
     // A file of another user may change after it was looked at.
     "same() { [ -x \"$p\" ] || return 1; u=$(stat -Lc %u \"$p\"); "
     "[ \"$u\" = 0 ] || [ \"$u\" = \"$(id -u)\" ] || return 1; "
     "[ \"$(sha256sum <\"$p\" | cut -d\" \" -f1)\" = \"$1\" ] || return 1; "
     "if " +
       trace + "\"$p\" 2>&1 </dev/null | grep -q \"not found\"; then return 1; fi; }",
     "echo", "say host \"$(uname -m)\"", "while :; do",
     "if own \"$d\" && own \"$b\" && [ -x \"$b/$e\" ]; then touch \"$b\"; "
     "start \"$b/$e\" \"$b/lib\"; fi",
     "say needs", "read w h || { rm -rf \"$t\"; exit 0; }",
     "if [ \"$w\" = same ]; then if same \"$h\"; then start \"$p\"; fi; say differs; "
     "read w || { rm -rf \"$t\"; exit 0; }; fi",
     "done"});
}

std::string copy_program_command(const RemoteProgram& program,
                                 const std::string& number) {
  return script({variables(program, number), say, own, sum, "mkdir -p \"$d\" || exit 1",
                 "if own \"$d\"; then :; else say problem \"$d belongs to another user, "
                 "or another user can write it\"; exit 1; fi",
                 "if mkdir -p \"$t/lib\" && cat >\"$t/$e\" && chmod 700 \"$t/$e\"; then "
                 "sum \"$t/$e\"; else rm -rf \"$t\"; exit 1; fi"});
}

std::string copy_library_command(const RemoteProgram& program, const std::string& number,
                                 const std::string& library) {
  return script({variables(program, number), say, sum, "l=" + shell_word(library),
                 "if cat >\"$t/lib/$l\"; then sum \"$t/lib/$l\"; else rm -rf \"$t\"; "
                 "exit 1; fi"});
}

std::string trace_command(const RemoteProgram& program, const std::string& number) {
  return script({variables(program, number), say,
                 "a=$(LD_LIBRARY_PATH=$t/lib${LD_LIBRARY_PATH:+:}$LD_LIBRARY_PATH " +
                   trace + "\"$t/$e\" 2>&1 </dev/null)",
                 "c=$?", "printf \"%s\\n\" \"$a\" | sed \"s/^/@fiber $n trace /\"",
                 "say traced $c"});
}

std::string publish_command(const RemoteProgram& program, const std::string& number) {
  return script(
    {variables(program, number), say, own,
     // Another driver may have published the same build, maybe under another name.
     "if own \"$b\" && [ -x \"$b/$e\" ]; then say copied; "
     "elif mv -T \"$t\" \"$b\" 2>/dev/null; then say copied; "
     "elif own \"$b\" && { mv -f \"$t\"/lib/* \"$b/lib/\" 2>/dev/null; "
     "mv -f \"$t/$e\" \"$b/$e\"; }; then say copied; "
     "else say problem \"$b can not be made\"; fi",
     "rm -rf \"$t\"",
     // The user may keep other folders there.
     "find \"$d/\" -mindepth 1 -maxdepth 1 -type d \\( -name \"" +
       repeated("[0-9a-f]", program.build.size()) + "\" -mtime +30 -o -name \".fiber-" +
       repeated("[0-9a-f]", number.size()) + "\" -mtime +1 \\) -exec rm -rf {} +",
     "exit 0"});
}

std::vector<std::string> lines_for(std::string_view output, const std::string& number) {
  const auto begin = "@fiber " + number + " ";
  std::vector<std::string> lines;
  while (!output.empty()) {
    const auto end = output.find('\n');
    const auto line = output.substr(0, end);
    if (line.starts_with(begin))
      lines.emplace_back(line.substr(begin.size()));
    output.remove_prefix(end == output.npos ? output.size() : end + 1);
  }
  return lines;
}

} // namespace fiber::backends::ssh
