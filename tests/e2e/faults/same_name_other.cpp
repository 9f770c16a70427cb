// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>
#include <vector>

#include <fiber/remote_error.hpp>

#include "tests/e2e/faults/same_name.hpp"

namespace fiber::e2e {
namespace {

class Failed {
public:
  std::string text() const { return text_; }
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& text_;
  }

private:
  std::string text_ = "of the other file";
};

RemoteError failure(Pool& pool) {
  try {
    pool.apply([] { throw Failed(); });
  } catch (const RemoteError& error) {
    return error;
  }
  throw std::logic_error("no RemoteError");
}

std::string rethrown(const RemoteError& error) {
  try {
    error.rethrow_original<Failed>();
  } catch (const Failed& failed) {
    return failed.text();
  } catch (...) { // RemoteError, or the Failed of the other file.
    return "not mine";
  }
}

void send(const Connection& end) {
  end.send(Failed());
}
std::string receive(const Connection& end) {
  return end.recv<Failed>().text();
}

void save(const Checkpoint& checkpoint) {
  checkpoint.save(Failed());
}
std::string load(const Checkpoint& checkpoint) {
  return checkpoint.load<Failed>().value().text();
}

void spawn(Supervisor& supervisor, const std::string& name) {
  supervisor.spawn<Failed>({.name = name});
}
std::string find(const std::string& name) {
  return fiber::find<Failed>(name).value().call<&Failed::text>();
}

int play(int) {
  return 2;
}
int play_in(Pool& pool, const std::string& journal) {
  return pool.map(play, std::vector<int>{0}, {.journal = journal}).front();
}

} // namespace

SameName other_file() {
  return {failure, rethrown, send, receive, save, load, spawn, find, play_in};
}

} // namespace fiber::e2e
