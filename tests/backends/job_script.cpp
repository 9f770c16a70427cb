// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/job_script.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends {

namespace {

/// Waits until the link is closed; a job without a link waits for a signal.
void wait_for_end(const JobEntry& entry) {
  std::signal(SIGTERM, [](int) { ::_exit(0); });
  std::cout << "waiting" << std::endl;
  char byte = 0;
  while (!entry.link || ::read(entry.link.get(), &byte, 1) != 0)
    if (!entry.link)
      ::pause();
}

void echo(const JobEntry& entry) {
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(entry.link.get(), buffer, sizeof buffer)) > 0;)
    if (::write(entry.link.get(), buffer, static_cast<std::size_t>(got)) != got)
      return;
}

void flood(std::size_t bytes) {
  std::string text;
  for (int line = 0; text.size() < bytes; ++line)
    text += "line " + std::to_string(line) + "\n";
  std::cout << text << "end of flood" << std::endl;
}

/// Starts a process that runs until killed; a daemon leaves the job's process group.
void start_child(bool daemon) {
  pid_t pid = ::fork();
  if (pid == 0) {
    if (daemon)
      ::setsid();
    std::signal(SIGTERM, SIG_IGN);
    ::alarm(300); // In case the test fails.
    for (;;)
      ::pause();
  }
  std::cout << "child " << pid << std::endl;
}

void eat(std::size_t megabytes) {
  std::vector<std::string> eaten;
  for (std::size_t i = 0; i < megabytes; ++i)
    eaten.emplace_back(1 << 20, 'x');
}

/// Allocates memory in a child, whose end does not matter.
void let_child_eat(std::size_t megabytes) {
  pid_t pid = ::fork();
  if (pid == 0) {
    eat(megabytes);
    ::_exit(0);
  }
  ::waitpid(pid, nullptr, 0);
}

void write_file(const std::string& path) {
  std::ofstream file(path);
  file << "written\n" << std::flush;
  std::cout << (file ? "written " : "not written ") << path << std::endl;
}

/// Prints how large a file system is.
void show_room(const std::string& path) {
  std::cout << "room in " << path << ": " << (std::filesystem::space(path).capacity >> 20)
            << " MiB" << std::endl;
}

/// Prints user, capabilities and the like, as the kernel knows them.
void show_status() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    for (auto* name : {"Uid:", "Gid:", "CapEff:", "CapBnd:", "NoNewPrivs:"})
      if (line.starts_with(name))
        std::cout << line << "\n";
  std::cout << "end of status" << std::endl;
}

/// Tries to cut off the page that is shared with the driver.
void cut_page(const JobEntry& entry) {
  fiber::detail::Classic<std::ostringstream> name;
  name << std::hex << reinterpret_cast<std::uintptr_t>(entry.page->data()) << '-'
       << reinterpret_cast<std::uintptr_t>(entry.page->data()) + entry.page->size();
  UniqueFd page(::open(("/proc/self/map_files/" + name.str()).c_str(), O_RDWR));
  auto cut = page && ::ftruncate(page.get(), 0) == 0;
  std::cout << (cut ? "cut" : page ? "page refused" : "page not found") << std::endl;
}

void show_host() {
  std::string name(256, '\0');
  ::gethostname(name.data(), name.size());
  std::cout << name.c_str() << std::endl;
}

void show_descriptors() {
  for (auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    auto target = std::filesystem::read_symlink(entry.path(), error);
    std::cout << "fd " << entry.path().filename().string() << " " << target.string()
              << "\n";
  }
  std::cout << "end of fds" << std::endl;
}

/// Prints the cores that this process may run on.
void show_cores() {
  cpu_set_t cores;
  ::sched_getaffinity(0, sizeof cores, &cores);
  std::cout << "cores";
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &cores))
      std::cout << " " << core;
  std::cout << std::endl;
}

/// Prints the signals that are blocked or ignored.
void show_signals() {
  sigset_t blocked;
  ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
  std::cout << "signals";
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (sigismember(&blocked, signal) || action.sa_handler == SIG_IGN)
      std::cout << " " << signal;
  }
  std::cout << " end" << std::endl;
}

[[noreturn]] void die_of(int signal) {
  ::prctl(PR_SET_DUMPABLE, 0);  // No core file.
  std::signal(signal, SIG_DFL); // A sanitizer may have a handler.
  ::kill(::getpid(), signal);
  for (;;)
    ::pause();
}

/// What a job is asked to print of itself. Returns false for any other command.
bool show(const std::string& command, const std::string& rest, int argc, char** argv) {
  if (command == "env") {
    const char* value = std::getenv(rest.c_str());
    std::cout << rest << "=" << (value ? value : "(unset)") << std::endl;
  } else if (command == "cores") {
    show_cores();
  } else if (command == "argv") {
    for (int i = 0; i < argc; ++i)
      std::cout << "argv " << i << " " << argv[i] << std::endl;
  } else if (command == "cwd") {
    std::cout << "cwd " << std::filesystem::current_path().string() << std::endl;
  } else if (command == "host") {
    show_host();
  } else if (command == "fds") {
    show_descriptors();
  } else if (command == "status") {
    show_status();
  } else if (command == "group") {
    std::cout << "group " << (::getpgrp() == ::getpid()) << std::endl;
  } else if (command == "mask") {
    show_signals();
  } else if (command == "room") {
    show_room(rest);
  } else {
    return false;
  }
  return true;
}

/// Stays for the seconds in a variable, or for ever if none is named.
void stay(const std::string& variable) {
  if (!variable.empty())
    ::sleep(static_cast<unsigned>(std::stoul(std::getenv(variable.c_str()))));
  else
    for (;;)
      ::pause();
}

} // namespace

int play(const JobEntry& entry, int argc, char** argv) {
  std::string script(reinterpret_cast<const char*>(entry.boot.data()), entry.boot.size());
  if (script.size() < 2)
    script = "digest";
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    std::string command = line.substr(0, line.find(' '));
    std::string rest =
      line.size() > command.size() ? line.substr(command.size() + 1) : "";
    if (command == "exit") {
      return std::stoi(rest);
    } else if (command == "signal") {
      die_of(std::stoi(rest));
    } else if (command == "print" || command == "error") {
      (command == "print" ? std::cout : std::cerr) << rest << std::endl;
    } else if (command == "tail") {
      std::cout << rest << std::flush;
    } else if (command == "flood") {
      flood(std::stoul(rest));
    } else if (command == "wait") {
      wait_for_end(entry);
    } else if (command == "ignore-term") {
      std::signal(SIGTERM, SIG_IGN);
      std::cout << "ignoring" << std::endl;
    } else if (command == "linger") {
      stay(rest);
    } else if (command == "stop") {
      std::cout << "stopping" << std::endl;
      std::raise(SIGSTOP);
    } else if (command == "child" || command == "daemon") {
      start_child(command == "daemon");
    } else if (show(command, rest, argc, argv)) {
      continue;
    } else if (command == "eat") {
      eat(std::stoul(rest));
    } else if (command == "child-eats") {
      let_child_eat(std::stoul(rest));
    } else if (command == "write") {
      write_file(rest);
    } else if (command == "echo") {
      echo(entry);
    } else if (command == "page") {
      entry.page->data()[0] = static_cast<std::byte>(std::stoi(rest));
    } else if (command == "cut-page") {
      cut_page(entry);
    } else if (command == "keys") {
      std::cout << digest(entry.keys) << std::endl;
    } else if (command == "digest") {
      std::cout << digest(entry.boot) << std::endl;
      return 0;
    } else {
      std::cerr << "unknown command " << command << std::endl;
      return 99;
    }
  }
  return 0;
}

std::string digest(const Bytes& bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (auto byte : bytes)
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 1099511628211u;
  return std::to_string(bytes.size()) + " bytes, digest " + std::to_string(hash);
}

Bytes boot(std::string_view script) {
  auto* begin = reinterpret_cast<const std::byte*>(script.data());
  return Bytes(begin, begin + script.size());
}

} // namespace fiber::backends
