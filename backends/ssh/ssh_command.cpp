// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_command.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "backends/engine/errors.hpp"
#include "backends/engine/job_exit.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::ssh {

namespace {

std::vector<std::string> with_options(const SshCommand& command,
                                      const std::vector<std::string>& options) {
  auto words = command.words;
  for (auto& option : options) {
    words.emplace_back("-o");
    words.push_back(option);
  }
  return words;
}

/// Returns the last line that says something.
std::string last_line(const std::string& text) {
  fiber::detail::Classic<std::istringstream> lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && static_cast<unsigned char>(line.back()) <= ' ')
      line.pop_back();
    if (!line.empty())
      last = line;
  }
  return last;
}

struct Remedy {
  std::string_view sign, words;
};

constexpr auto closed_remedy =
  "its sshd closed the connection; some servers refuse an address for a while after "
  "failed logins: wait a minute, and try ssh HOST";

// What ssh says, and what to do about it. "HOST" stands for the host.
constexpr Remedy remedies[] = {
  {"IDENTIFICATION HAS CHANGED",
   "the host key is not the one in known_hosts: another machine may answer in its place. "
   "If the machine was set up anew, remove the old key by ssh-keygen -R HOST"},
  {"Host key verification failed",
   "the host key is not known: compare and accept it once by ssh HOST"},
  {"cannot create directory", "set ssh_directory to a folder that you can write there"},
  {"Permission denied (",
   "no key of yours is accepted, and Fiber never asks for a password: make ssh HOST work "
   "without one, by ssh-copy-id HOST or ssh-add"},
  {"Could not resolve hostname", "the name is unknown: give a name or an alias that ssh "
                                 "knows"},
  {"Connection refused", "no sshd listens there: start it, or set Port in ~/.ssh/config"},
  {"timed out", "it does not answer: is it up? Does a firewall let ssh pass?"},
  {"No route to host", "it can't be reached from here: is it up?"},
  {"Network is unreachable", "it can't be reached from here: is it up?"},
  {"No space left on device", "the host's disk is full: make room, or set ssh_directory"},
  {"Connection reset by peer", closed_remedy},
  {"Connection closed by", closed_remedy},
  {"Disk quota exceeded", "your quota there is used up: make room, or set ssh_directory"},
  {"Read-only file system", "set ssh_directory to a folder that you can write there"},
};

std::string replaced(std::string text, const std::string& host) {
  for (auto at = text.find("HOST"); at != text.npos; at = text.find("HOST", at))
    text.replace(at, 4, host);
  return text;
}

} // namespace

std::vector<std::string> SshCommand::open(const std::string& host,
                                          const std::string& command) const {
  auto words = with_options(
    *this,
    {"BatchMode=yes", "ConnectTimeout=15", "ControlMaster=yes", "ControlPath=" + control,
     "ControlPersist=no", "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no",
     "PermitLocalCommand=no", "ServerAliveInterval=15", "RemoteCommand=none",
     "RequestTTY=no", "Compression=no", "LogLevel=ERROR"});
  words.insert(words.end(), {"--", host, command});
  return words;
}

std::vector<std::string> SshCommand::run(const std::string& host,
                                         const std::string& command,
                                         bool terminal) const {
  auto words = with_options(
    *this,
    {"BatchMode=yes", "ControlMaster=no", "ControlPath=" + control,
     "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "RemoteCommand=none",
     terminal ? "RequestTTY=yes" : "RequestTTY=no", "LogLevel=ERROR"});
  words.insert(words.end(), {"--", host, command});
  return words;
}

std::vector<std::string> SshCommand::forward(const std::string& host,
                                             const std::string& address) const {
  auto words = with_options(*this, {"BatchMode=yes", "ControlPath=" + control});
  const auto colon = address.rfind(':');
  auto name = address.substr(0, colon);
  if (name.find(':') != name.npos)
    name = "[" + name + "]";
  // Without the user's configuration, whose own forwards this would request.
  words.insert(words.end(), {"-F", "/dev/null", "-O", "forward", "-R",
                             "127.0.0.1:0:" + name + address.substr(colon), "--", host});
  return words;
}

std::string SshCommand::problem(const std::string& host, const std::string& errors,
                                std::optional<int> exit_code) const {
  auto said = last_line(errors);
  if (said.empty()) {
    said =
      words.front() + ": " +
      (exit_code ? Exit::known(*exit_code) : Exit::unknown("reaped elsewhere")).detail;
    if (exit_code == 255) // LogLevel=ERROR hides that the server has closed it.
      said += replaced(" (" + std::string(closed_remedy) + ")", host);
  }
  for (auto& remedy : remedies)
    if (errors.find(remedy.sign) != errors.npos)
      return said + " (" + replaced(std::string(remedy.words), host) + ")";
  return said;
}

std::string host_name_in(const std::string& configuration) {
  fiber::detail::Classic<std::istringstream> lines(configuration);
  constexpr std::string_view key = "hostname ";
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key))
      return line.substr(key.size());
  return {};
}

std::string control_folder() {
  // Short, since the path of a socket has at most 107 characters.
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  auto base = runtime && *runtime == '/' && std::string_view(runtime).size() < 40
                ? std::string(runtime) + "/fiber-ssh"
                : "/tmp/fiber-ssh-" + std::to_string(::geteuid());
  if (::mkdir(base.c_str(), 0700) != 0 && errno != EEXIST)
    throw engine_error("make " + base, errno);
  struct stat folder {};
  if (::lstat(base.c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode) ||
      folder.st_uid != ::geteuid() || (folder.st_mode & 0077) != 0)
    throw EngineError("make " + base, EEXIST,
                      "it is not a folder of this user with mode 0700; remove it");
  return base;
}

} // namespace fiber::backends::ssh
