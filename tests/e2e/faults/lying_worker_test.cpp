// SPDX-License-Identifier: Apache-2.0
// The promise: a worker that lies, in any field of any message, by naming code that is no
// entry point, or by sending without end, harms nobody else. The driver lives, its memory
// stays, and other results are right.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fiber/fiber.hpp>

#include "actors/objects/this_job.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "fiber/detail/packed_item.hpp"
#include "tests/actors/protocol/every_message.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/e2e/support/memory.hpp"
#include "wire/frame.hpp"

namespace fiber::e2e {
namespace {

using namespace actors;
using namespace std::chrono_literals;

constexpr std::size_t mib = std::size_t{1} << 20;

/// The socket by which this job talks to its driver.
int link_to(pid_t driver) {
  for (int fd = 3; fd < 1024; ++fd) {
    int type = 0;
    ucred peer{};
    socklen_t size = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM)
      continue;
    size = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
        peer.pid == driver)
      return fd;
  }
  return -1;
}

/// One frame with the message.
Bytes framed(const Bytes& message) {
  Bytes out(wire::frame_header_bytes);
  wire::encode({wire::FrameType::message, true, true, task_stream,
                static_cast<std::uint32_t>(message.size())},
               out.data());
  out.insert(out.end(), message.begin(), message.end());
  return out;
}

/// Writes all of it, as often as asked. False when the driver has closed the link.
bool write_all(int link, const Bytes& frames, std::size_t times = 1) {
  for (; times > 0; --times)
    for (std::size_t done = 0; done < frames.size();) {
      auto n = ::send(link, frames.data() + done, frames.size() - done, MSG_NOSIGNAL);
      if (n > 0)
        done += static_cast<std::size_t>(n);
      else if (n < 0 && (errno == EAGAIN || errno == EINTR))
        ::usleep(100); // The driver has to read first.
      else
        return false;
    }
  return true;
}

/// Every field lies once: since the shortest have a byte and most four or eight, some
/// byte of each is changed, the first bytes of a message one by one.
std::vector<Bytes> lies(const Bytes& message) {
  std::vector<Bytes> all{message, Bytes(message.begin(), message.end() - 1)};
  for (std::size_t at = 1; at < message.size(); at += at < 4 ? 1 : 4) {
    auto lie = message;
    for (auto i = at; i < std::min(at + 4, lie.size()); ++i)
      lie[i] = ~lie[i];
    all.push_back(std::move(lie));
  }
  return all;
}

void tell(pid_t driver, const Bytes& lie) {
  write_all(link_to(driver), framed(lie));
}

struct LyingWorker : SessionTest {};

TEST_F(LyingWorker, finds_its_link) { // Else the tests below would tell no lie.
  open();
  Pool pool(1);
  EXPECT_GE(pool.apply(link_to, getpid()), 0);
}

TEST_F(LyingWorker, in_any_field_of_any_message_harms_nobody_else) {
  open({.log_level = "off"});
  Pool honest(1);
  auto work = [&] { EXPECT_EQ(honest.map(f, indices(20)), undisturbed(20)); };
  work();
  const auto before = used_bytes();
  std::size_t told = 0, cut_off = 0;
  for (const auto& [name, message] : every_message_of_a_job()) {
    std::vector<fiber::Process> liars;
    for (const auto& lie : lies(message)) {
      liars.emplace_back(tell, getpid(), lie);
      liars.back().start();
      ++told;
    }
    work();
    for (auto& liar : liars) {
      ASSERT_TRUE(liar.join(deadline)) << name;
      cut_off += liar.exit_code() != 0;
    }
    work();
  }
  EXPECT_GT(told, 300U);
  EXPECT_GT(cut_off, 100U); // The others' lies were of no consequence.
  EXPECT_LT(used_bytes(), before + 64 * mib);
  EXPECT_EQ(honest.stats().workers_lost, 0U);
  expect_works(honest, 1);
}

/// Takes the link away from the library, which would end it: the driver grants more
/// credit than the library has used.
int take_link_to(pid_t driver) {
  auto link = link_to(driver), own = ::dup(link);
  int nothing[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, nothing) == 0)
    ::dup2(nothing[0], link);
  return own;
}

/// Sends such messages again and again.
void flood(pid_t driver, const Bytes& message, std::size_t bytes) {
  auto link = take_link_to(driver);
  Bytes many;
  while (many.size() < 64 * 1024) {
    auto frame = framed(message);
    many.insert(many.end(), frame.begin(), frame.end());
  }
  write_all(link, many, bytes / many.size());
}

TEST_F(LyingWorker, that_sends_without_end_cannot_fill_the_driver) {
  open({.log_level = "off"});
  Pool honest(1);
  EXPECT_EQ(honest.map(f, indices(20)), undisturbed(20));
  const auto before = used_bytes();
  std::size_t most = 0;
  auto messages = every_message_of_a_job();
  messages.push_back({"long results", results_of(64 * 1024)});
  for (const auto& [name, message] : messages) {
    if (name == "log" || name.starts_with("op ")) // A log's reader is its file.
      continue;
    fiber::Process liar(flood, getpid(), message, 16 * mib);
    liar.start();
    // One that asks and does not read the answers has to wait for ever.
    for (int round = 0; round < 300 && !liar.join(1ms); ++round) {
      EXPECT_EQ(honest.map(f, indices(20)), undisturbed(20));
      most = std::max(most, used_bytes());
    }
    liar.kill();
    liar.join();
    EXPECT_LT(most, before + 64 * mib) << name;
  }
  EXPECT_EQ(honest.stats().workers_lost, 0U);
  expect_works(honest, 1);
}

class Tally {
public:
  int add(int n) { return sum_ += n; }

private:
  int sum_ = 0;
};

/// Writes the place of the function, so many bytes behind its begin.
Bytes place_of(const void* code, detail::CodeKind kind, std::uint8_t behind = 0) {
  Bytes place;
  Writer writer(place);
  detail::pack_code(writer, code, kind);
  auto& low = place[place.size() - sizeof(std::uint64_t)];
  low = static_cast<std::byte>(std::to_integer<std::uint8_t>(low) + behind);
  return place;
}

/// Asks the manager for a call of the code at this place, and waits for the answer.
void name_code(const Ref<Tally>& tally, const Bytes& place) {
  auto packed = detail::PackedItem::of([&](Writer& writer) { pack(writer, tally); });
  auto id = packed.kept.at(0)->held_id();
  Bytes body;
  Writer writer(body);
  writer.put(id.number);
  writer.put(detail::ObjectOp::call);
  body.insert(body.end(), place.begin(), place.end());
  std::promise<void> answered;
  ThisJob::get()->objects->ask(id, AskKind::call, Payload(std::move(body)), {},
                               [&](std::uint64_t, const auto&) { answered.set_value(); });
  answered.get_future().wait();
}

TEST_F(LyingWorker, that_names_code_that_is_no_entry_point_is_cut_off) {
  open({.log_level = "off"});
  Manager manager;
  auto tally = manager.create<Tally>();
  EXPECT_EQ(tally.call<&Tally::add>(1), 1);
  constexpr auto calls = detail::CodeKind::call_object;
  auto entry = detail::code_of(
    detail::entry<calls,
                  &detail::call_object<Tally, detail::Member<&Tally::add>, int>>());
  auto open_code = detail::code_of(AnyCallable([] {}).open());
  fiber::Process honest(name_code, tally,
                        place_of(entry, calls)); // But it forgets 4 bytes.
  honest.start();
  ASSERT_TRUE(honest.join(deadline));
  EXPECT_EQ(honest.exit_code(), 0);
  for (const auto& [what, place] :
       {std::pair("the middle of an entry point", place_of(entry, calls, 1)),
        {"an entry point of another kind", place_of(open_code, detail::CodeKind::open)},
        {"a function of a library",
         place_of(::dlsym(RTLD_DEFAULT, "system"), detail::CodeKind::function)},
        {"nothing", {}}}) {
    fiber::Process liar(name_code, tally, place);
    liar.start();
    ASSERT_TRUE(liar.join(deadline)) << what;
    EXPECT_NE(liar.exit_code(), 0) << what;
    EXPECT_EQ(tally.call<&Tally::add>(0), 1) << what; // The manager has lost nothing.
  }
  Pool pool(1);
  expect_works(pool, 1);
}

} // namespace
} // namespace fiber::e2e
