// SPDX-License-Identifier: Apache-2.0
#include "cli/sessions.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <set>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/crashed.hpp"
#include "cli/printable.hpp"
#include "cli/remote.hpp"
#include "cli/session_text.hpp"
#include "fiber/error.hpp"
#include "libfiber/observer/process_stat.hpp"
#include "libfiber/observer/session_note.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds stopped_limit{50}; ///< For a process that is stopped anyway.
constexpr std::size_t max_reply = std::size_t{64} << 20;

/// Returns nothing, with errno set, if it is refused.
UniqueFd connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return {};
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return {};
  return socket;
}

ucred peer_of(const UniqueFd& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    peer.uid = static_cast<uid_t>(-1);
  return peer;
}

bool is_stopped(pid_t pid) {
  auto stat = observer::stat_of(pid);
  return stat && (stat->state == 'T' || stat->state == 't');
}

/// Once, though a verb may look for sessions again and again.
void warn_once(const std::string& text) {
  static std::set<std::string> said;
  if (said.insert(text).second)
    std::fprintf(stderr, "fiber: warning: %s\n", text.c_str());
}

/// Adds the session of this socket, unless it has ended.
void add_session(std::vector<Session>& sessions, observer::SocketFile file) {
  auto socket = connect_to(file.path);
  if (!socket && errno == ECONNREFUSED) {
    ::unlink(file.path.c_str());
    return;
  }
  // EAGAIN: too many wait for it already, because it does not answer.
  if (!socket && errno != EAGAIN)
    return;
  Session session{.name = std::move(file.name),
                  .pid = file.pid,
                  .path = std::move(file.path),
                  .socket = std::move(socket)};
  if (session.socket) {
    auto peer = peer_of(session.socket);
    if (peer.uid != ::geteuid() && peer.uid != 0)
      return;
    if (peer.pid > 0)
      session.pid = peer.pid;
  }
  session.stopped = is_stopped(session.pid);
  sessions.push_back(std::move(session));
}

/// Finds one of the sessions on engines. Those of this machine, none of which is meant,
/// are for the error.
Session find_remote(const std::string& name, NameMatch match,
                    std::vector<Session> sessions) {
  constexpr milliseconds patience{10000}; // Nothing else is waited for.
  auto told = RemoteLookup(RemoteLookup::Kind::running, patience).read();
  for (auto& [driver, snapshot] : told.sessions)
    sessions.push_back({.name = driver.name, .remote = driver});
  std::string names;
  for (auto& session : sessions)
    names += (names.empty() ? "" : ", ") + session.name;
  auto found = called(name, sessions, match);
  if (found.size() == 1)
    return std::move(found.front());
  if (found.size() > 1)
    throw Error("\"" + name + "\" is not one session: " + numbered(found));
  auto problem = "there is no session \"" + name + "\"";
  if (auto near = called(name, sessions); !near.empty())
    throw Error(problem + "; to end " + near.front().name + " give its whole name");
  problem += names.empty() ? "; no program that uses Fiber runs here under this user"
                           : "; there are: " + names;
  for (auto& engine : told.silent)
    problem += "; " + engine.name + " can't be asked: " + engine.problem;
  throw Error(problem);
}

/// One request to one session, and as much of the reply as has come.
class Question {
public:
  Question(const Session& session, const std::string& request, Clock::time_point limit)
    : socket_(session.socket.get()), out_(request), limit_(limit) {
    if (socket_ < 0)
      over_ = true;
  }

  bool is_over() const { return over_; }
  Clock::time_point limit() const { return limit_; }
  pollfd wait_for() const {
    return {socket_, static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
  }
  void proceed(Clock::time_point now) {
    send();
    receive();
    if (now >= limit_)
      over_ = true;
  }
  std::optional<json> reply() const {
    auto reply = json::parse(in_, nullptr, false);
    return complete_ && reply.is_object() ? std::optional(std::move(reply))
                                          : std::nullopt;
  }

private:
  void send() {
    while (!over_ && !out_.empty()) {
      auto n = ::send(socket_, out_.data(), out_.size(), MSG_NOSIGNAL);
      if (n < 0)
        return check();
      out_.erase(0, static_cast<std::size_t>(n));
    }
  }
  void receive() {
    char piece[64 * 1024];
    while (!over_) {
      auto n = ::recv(socket_, piece, sizeof piece, 0);
      if (n < 0)
        return check();
      in_.append(piece, static_cast<std::size_t>(n));
      complete_ = in_.ends_with('\n');
      over_ = n == 0 || complete_ || in_.size() > max_reply;
    }
  }
  void check() {
    if (errno != EAGAIN && errno != EINTR)
      over_ = true;
  }

  const int socket_;
  std::string out_, in_;
  const Clock::time_point limit_;
  bool over_ = false, complete_ = false;
};

void ask_until_over(std::vector<Question>& questions) {
  for (;;) {
    std::vector<pollfd> waits;
    auto next = Clock::time_point::max();
    for (auto& question : questions)
      if (!question.is_over()) {
        waits.push_back(question.wait_for());
        next = std::min(next, question.limit());
      }
    if (waits.empty())
      return;
    auto left = std::chrono::ceil<milliseconds>(next - Clock::now());
    ::poll(waits.data(), waits.size(),
           static_cast<int>(std::max(left, milliseconds(0)).count()));
    auto now = Clock::now();
    for (auto& question : questions)
      if (!question.is_over())
        question.proceed(now);
  }
}

/// Asks over the socket. Throws Error if there is no reply in time.
json ask_here(Session& session, const json& request, milliseconds limit) {
  auto end = Clock::now() + (session.stopped ? stopped_limit : limit);
  auto try_once = [&] {
    std::vector<Question> question;
    question.emplace_back(session, request.dump() + "\n", end);
    ask_until_over(question);
    auto reply = question.front().reply();
    if (!reply) // A late reply must not be taken for that to the next request.
      session.socket = connect_to(session.path);
    return reply;
  };
  auto reply = try_once();
  if (!reply && session.socket && Clock::now() < end)
    reply = try_once();
  if (!reply && !session.socket)
    throw Error(session.name + " has ended");
  if (!reply)
    throw Error(title_of(session) + " does not answer" +
                (session.stopped ? ": it is stopped; `kill -CONT " +
                                     std::to_string(session.pid) + "` lets it go on"
                                 : ""));
  return std::move(*reply);
}

} // namespace

std::string number_of(const Session& session) {
  if (!session.remote)
    return std::to_string(session.pid);
  auto& place = session.remote->place; // "job 12"
  return place.substr(place.rfind(' ') + 1);
}

std::string title_of(const Session& session) {
  return session.name + (session.remote ? " (" + session.remote->place + " on " +
                                            session.remote->engine + ")"
                                        : " (pid " + std::to_string(session.pid) + ")");
}

json json_title(const Session& session) {
  json title{{"name", session.name}};
  if (session.remote)
    title.update({{"place", session.remote->place}, {"backend", session.remote->engine}});
  else
    title["pid"] = session.pid;
  return title;
}

std::string id_of(const json& snapshot) {
  return snapshot.value("session", json::object()).value("id", "");
}

std::vector<Session> all_sessions() {
  std::vector<Session> sessions;
  for (auto& folder : observer::socket_folders()) {
    auto problem = observer::folder_problem(folder);
    if (problem == observer::missing)
      continue;
    if (!problem.empty()) {
      warn_once("the folder of sessions " + folder + " is left out: " + problem);
      continue;
    }
    for (auto& file : observer::sockets_in(folder))
      add_session(sessions, std::move(file));
  }
  std::ranges::sort(sessions, {},
                    [](auto& each) { return std::tie(each.name, each.pid); });
  return sessions;
}

std::optional<Process> driver_of(const Session& session) {
  auto process = Process::open(session.pid);
  auto note = observer::read_note(observer::note_beside(session.path));
  auto stat = observer::stat_of(session.pid);
  if (note && (!stat || stat->started != note->process_started))
    return std::nullopt;
  return process;
}

bool listens_at(const std::string& path) {
  return connect_to(path) || errno == EAGAIN; // EAGAIN: too many wait for it already.
}

Session find_session(const std::string& name, NameMatch match) {
  auto sessions = all_sessions();
  auto found = called(name, sessions, match);
  if (found.size() == 1)
    return std::move(found.front());
  if (found.size() > 1)
    throw Error("\"" + name + "\" is not one session: " + numbered(found));
  if (auto crashed = find_crashed(name, match))
    throw Error(crashed->name + " (pid " + std::to_string(crashed->pid) +
                ") has crashed; `fiber kill " + crashed->name + "` removes what it left");
  return find_remote(name, match, std::move(sessions));
}

std::vector<std::optional<json>> ask_all(const std::vector<Session>& sessions,
                                         const json& request, milliseconds limit) {
  auto text = request.dump() + "\n";
  auto now = Clock::now();
  std::vector<Question> questions;
  for (auto& session : sessions)
    questions.emplace_back(session, text,
                           now + (session.stopped ? stopped_limit : limit));
  ask_until_over(questions);
  std::vector<std::optional<json>> replies;
  for (auto& question : questions)
    replies.push_back(question.reply());
  return replies;
}

json ask(Session& session, const json& request, milliseconds limit) {
  auto reply = session.remote ? ask_remote(*session.remote, request, limit + relay_limit)
                              : ask_here(session, request, limit);
  if (auto problem = reply.find("problem"); session.remote && problem != reply.end()) {
    if (driver_has_ended(*session.remote))
      throw Error(session.name + " has ended");
    throw Error(title_of(session) + " does not answer: " + problem->get<std::string>());
  }
  if (auto problem = reply.find("error"); problem != reply.end())
    throw Error(session.name + ": " +
                (problem->is_string() ? problem->get<std::string>() : problem->dump()));
  return reply;
}

void print_session(Session& session, const json& snapshot, std::size_t columns) {
  for (auto& line : session_lines(snapshot, columns, JobOrder::name))
    std::cout << line << "\n";
  try {
    if (auto page = ask(session, {{"op", "page"}}).value("url", ""); !page.empty())
      std::cout << "\nlive page: " << printable(page) << "\n";
  } catch (const Error&) { // It has ended, or is of an earlier release.
  }
}

bool await_closed(const Session& session, milliseconds limit) {
  if (session.remote)
    return await_end(*session.remote, limit);
  auto end = Clock::now() + limit;
  for (;;) {
    char ignored[4096];
    auto n = ::recv(session.socket.get(), ignored, sizeof ignored, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
      return true;
    auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
    if (left.count() <= 0)
      return false;
    pollfd wait{session.socket.get(), POLLIN, 0};
    ::poll(&wait, 1, static_cast<int>(left.count()));
  }
}

bool is_alive(const Session& session) {
  return !await_closed(session, milliseconds(0));
}

} // namespace fiber::cli
