// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/remote_shell.hpp"

#include <array>
#include <cstdio>
#include <initializer_list>
#include <utility>

#include "backends/ssh/agent.hpp"

// The scripts have no newline, no single quote and no '!', so that every shell passes
// them on as they are, also fish and csh.
// NOLINTBEGIN(bugprone-suspicious-missing-comma): a command may take several literals.

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
  return "m=$(umask); umask 077; n=" + number + "; " + set_folder(program.directory) +
         "; b=$d/" + program.build + "; t=$d/.fiber-$n; e=" + program.name;
}

constexpr std::size_t line_limit = 64 * 1024;
// Of run_command(), then the number: the id of the process. With ".sh", its script.
constexpr auto process_file = ".driver-";
constexpr auto end_of_script = "@fiber end of the script";
constexpr auto say = "say() { echo \"@fiber $n $*\"; }";
// Whether a folder is this user's and no other user can write it.
constexpr auto own = "own() { set -- $(stat -Lc \"%u %a\" \"$1\" 2>/dev/null); "
                     "[ \"$1\" = \"$(id -u)\" ] || return 1; "
                     "case $2 in *[2367]|*[2367]?) return 1;; esac; }";
// Asks the loader. A program without one runs instead: as an agent, which ends at once.
const std::string trace =
  "FIBER_NODE=" + std::string(agent_role) + ":trace LD_TRACE_LOADED_OBJECTS=1 ";
const std::string search_copies =
  "LD_LIBRARY_PATH=$l${LD_LIBRARY_PATH:+:}$LD_LIBRARY_PATH; export LD_LIBRARY_PATH";
constexpr auto sum = "sum() { say sum \"$(sha256sum <\"$1\" | cut -d\" \" -f1)\"; }";

/// Returns a word of /bin/sh, for a script that no other shell reads.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (char c : text)
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

/// Finds the program, or has it copied, and then calls `start` of this script with its
/// path and the folder of its libraries.
std::string find_program(const RemoteProgram& program, const std::string& number,
                         const std::string& start) {
  return script(
    {variables(program, number), say, own, "p=" + shell_word(program.path), start,
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
  return find_program(program, number,
                      "start() { say starts \"$1\"; " + before +
                        "=$LD_LIBRARY_PATH; l=$2; if [ -d \"$l\" ]; then " +
                        search_copies + "; fi; FIBER_NODE=" + agent_role +
                        ":$n; export FIBER_NODE " + before +
                        "; umask $m; exec \"$1\"; }");
}

std::string stand_by_command(const RemoteProgram& program, const std::string& number) {
  return find_program(
    program, number,
    "pid() { i=0; while [ $i -lt 30 ] && [ -e \"$f\" ] && [ -z \"$(cat \"$f\")\" ]; do "
    "sleep 1; i=$((i+1)); done; cat \"$f\"; }; " +
      // A word after the end of the connection must not end this shell.
      std::string(
        "start() { trap \"\" PIPE; mkdir -p \"$d\" && own \"$d\" || { "
        "echo \"$d belongs to another user, or another user can write it\" >&2; "
        "exit 1; }; f=$d/") +
      process_file +
      "$n; say starts \"$1\"; : >\"$f\" || exit 1; "
      "while IFS= read -r s; do if [ \"$s\" = \"" +
      end_of_script +
      "\" ]; then break; fi; printf \"%s\\n\" \"$s\" || exit 1; done >\"$f.sh\" || exit "
      "1; "
      "exec 2>/dev/null; say waits; "
      "while read -r s; do kill -s \"$s\" \"$(pid)\"; done; "
      "p=$(cat \"$f\"); if [ -n \"$p\" ]; then kill -s TERM \"$p\"; i=0; "
      "while [ -e \"$f\" ] && [ $i -lt 10 ] && kill -s 0 \"$p\"; do sleep 1; "
      "i=$((i+1)); done; if [ -e \"$f\" ]; then kill -s KILL \"$p\"; fi; fi; "
      "rm -f \"$f\" \"$f.sh\"; exit 0; }");
}

std::string script_of(const RemoteProgram& program, const RemoteProcess& process) {
  auto text =
    "echo $$ >\"$1\" || exit 1\ncd " + quoted(process.directory) + " 2>/dev/null || cd\n";
  for (auto& [name, value] : process.environment)
    text += "export " + name + "=" + quoted(value) + "\n";
  if (process.path.ends_with("/" + program.build + "/" + program.name)) {
    const auto libraries = process.path.substr(0, process.path.rfind('/')) + "/lib";
    text += "if [ -d " + quoted(libraries) +
            " ]; then export LD_LIBRARY_PATH=" + quoted(libraries) +
            "${LD_LIBRARY_PATH:+:}$LD_LIBRARY_PATH; fi\n";
  }
  text += "exec " + quoted(process.path);
  for (auto& argument : process.arguments)
    text += " " + quoted(argument);
  return text + "\n" + end_of_script + "\n";
}

std::string run_command(const RemoteProgram& program, const std::string& number) {
  return script({variables(program, number), "f=$d/" + std::string(process_file) + "$n",
                 // A terminal sends signals to this shell as well, which tells how the
                 // program has ended.
                 "trap : INT QUIT TERM HUP", "[ -s \"$f.sh\" ] || exit 255", "umask $m",
                 "/bin/sh \"$f.sh\" \"$f\"", "c=$?", "rm -f \"$f\" \"$f.sh\"",
                 "exit $c"});
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
     "find \"$d/\" -mindepth 1 -maxdepth 1 -type f -name \"" + std::string(process_file) +
       "*\" -mtime +365 -exec rm -f {} +",
     "exit 0"});
}

std::optional<std::string> PrintedLines::next(std::string_view& bytes) {
  const auto end = bytes.find('\n');
  line_ += bytes.substr(0, end);
  bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
  if (line_.size() > line_limit)
    line_.clear(); // A start file prints without end of line.
  if (end == bytes.npos)
    return {};
  return std::exchange(line_, {});
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

// NOLINTEND(bugprone-suspicious-missing-comma)
