// SPDX-License-Identifier: Apache-2.0
// The promise: what is saved in a Checkpoint is there as a whole for any process, however
// who saved it has ended.
#include <csignal>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

class EveryCheckpoint : public EveryMode {};

TEST_P(EveryCheckpoint, holds_what_was_saved_last) {
  Checkpoint checkpoint;
  EXPECT_EQ(checkpoint.load<int>(), std::nullopt);
  checkpoint.save(1);
  checkpoint.save(2);
  EXPECT_EQ(checkpoint.load<int>(), 2);
  checkpoint.save("text");
  EXPECT_EQ(checkpoint.load<std::string>(), "text");
  std::map<std::string, std::vector<double>> all{{"a", {1, 2}}, {"b", {}}};
  checkpoint.save(all);
  EXPECT_EQ(checkpoint.load<decltype(all)>(), all);
  std::vector<int> large(1'000'000, 7);
  checkpoint.save(large);
  EXPECT_EQ(checkpoint.load<std::vector<int>>(), large);
}

TEST_P(EveryCheckpoint, is_one_in_all_processes) {
  Checkpoint checkpoint;
  Pool pool(2);
  pool.apply([](Checkpoint to) { to.save(41); }, checkpoint);
  EXPECT_EQ(pool.apply(
              [](std::vector<Checkpoint> from) {
                auto value = from.at(0).load<int>().value() + 1;
                from.at(0).save(value);
                return value;
              },
              std::vector<Checkpoint>{checkpoint}),
            42);
  EXPECT_EQ(checkpoint.load<int>(), 42);
  EXPECT_TRUE(pool.apply([](Checkpoint a, Checkpoint b) { return a == b; }, checkpoint,
                         checkpoint));
  EXPECT_FALSE(checkpoint == Checkpoint());
}

TEST_P(EveryCheckpoint, names_both_types_if_it_holds_another) {
  Checkpoint checkpoint;
  checkpoint.save(1);
  try {
    checkpoint.load<double>();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "a int was saved in this Checkpoint, and a double was asked for");
  }
}

TEST_P(EveryCheckpoint, keeps_what_handles_in_it_stand_for) {
  Checkpoint checkpoint;
  {
    SimpleQueue<int> queue;
    queue.put(7);
    checkpoint.save(queue);
  }
  EXPECT_EQ(checkpoint.load<SimpleQueue<int>>().value().get(), 7);
  Checkpoint file((folder() / "file").string());
  EXPECT_THROW(file.save(SimpleQueue<int>()), Error);
}

TEST_P(EveryCheckpoint, is_in_its_file_for_the_next_run) {
  auto path = (folder() / "learner").string();
  Pool pool(1);
  {
    Checkpoint checkpoint(path);
    EXPECT_EQ(checkpoint.load<int>(), std::nullopt);
    pool.apply(
      [](Checkpoint to) {
        to.save(1);
        to.save(2);
      },
      checkpoint);
  }
  EXPECT_EQ(Checkpoint(path).load<int>(), 2);
  EXPECT_THROW(Checkpoint(path).load<double>(), Error);
  std::filesystem::resize_file(path, 10);
  EXPECT_EQ(Checkpoint(path).load<int>(), 1);
  std::ofstream(path, std::ios::trunc) << "another's";
  std::filesystem::remove(path + ".previous");
  auto loads = [](Checkpoint from) { return from.load<int>().value(); };
  EXPECT_THROW(pool.apply(loads, Checkpoint(path)), RemoteError);
}

TEST_P(EveryCheckpoint, names_the_file_that_cant_be_written) {
  auto path = (folder() / "none" / "learner").string();
  try {
    Checkpoint(path).save(1);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              "checkpoint " + path + " can't be written: No such file or directory");
  }
  EXPECT_THROW(Checkpoint(""), ConfigError);
}

TEST_P(EveryCheckpoint, ends_with_its_session) {
  Checkpoint checkpoint;
  Checkpoint file((folder() / "file").string());
  checkpoint.save(1);
  file.save(1);
  close();
  EXPECT_THROW(checkpoint.load<int>(), Closed);
  EXPECT_THROW(file.save(2), Closed);
  EXPECT_THROW(Checkpoint(), Closed);
}

INSTANTIATE_TEST_SUITE_P(With, EveryCheckpoint, testing::ValuesIn(modes()), mode_name);

class CheckpointFault : public SessionTest {};

/// A value whose parts must all be of one save.
std::vector<long> whole(long n) {
  return std::vector<long>(200'000, n);
}
void expect_whole(const std::vector<long>& value) {
  ASSERT_EQ(value.size(), 200'000U);
  EXPECT_EQ(value.front(), value.back());
  EXPECT_EQ(value[100'000], value.front());
}

TEST_F(CheckpointFault, is_whole_though_its_users_are_killed_while_they_save) {
  open();
  Checkpoint checkpoint((folder() / "file").string());
  Checkpoint memory;
  for (int i = 0; i < 5; ++i) {
    ::fiber::Process saver(fiber::bind(
      [](Checkpoint one, Checkpoint other, std::string list) {
        for (long n = 1;; ++n) {
          one.save(whole(n));
          other.save(whole(n));
          note(list, std::to_string(n));
        }
      },
      checkpoint, memory, "saved" + std::to_string(i)));
    saver.start();
    auto before = "saved" + std::to_string(i);
    EXPECT_TRUE(wait_until([&] { return notes(before).size() > 2; }));
    saver.kill();
    saver.join();
    auto last = std::stol(notes(before).back());
    for (auto& each : {checkpoint, memory}) {
      auto value = each.load<std::vector<long>>().value();
      expect_whole(value);
      EXPECT_GE(value.front(), last); // Whatever save() has returned of.
      EXPECT_LE(value.front(), last + 1);
    }
  }
}

TEST_F(CheckpointFault, is_whole_in_its_file_though_the_process_is_killed_that_writes) {
  open();
  auto path = (folder() / "file").string();
  for (int i = 0; i < 5; ++i) {
    auto list = "wrote" + std::to_string(i);
    ::fiber::Process writer(fiber::bind(
      [](std::string to, std::string noted) {
        Checkpoint own(to); // Its home is this process.
        for (long n = 1;; ++n) {
          own.save(whole(n));
          note(noted, std::to_string(n));
        }
      },
      path, list));
    writer.start();
    EXPECT_TRUE(wait_until([&] { return notes(list).size() > 2; }));
    writer.kill();
    writer.join();
    auto last = std::stol(notes(list).back());
    auto value = Checkpoint(path).load<std::vector<long>>().value();
    expect_whole(value);
    EXPECT_GE(value.front(), last);
  }
}

TEST_F(CheckpointFault, of_a_job_ends_with_it) {
  open();
  SimpleQueue<Checkpoint> queue;
  ::fiber::Process maker(fiber::bind(
    [](SimpleQueue<Checkpoint> to) {
      Checkpoint own;
      own.save(1);
      to.put(own);
      pause();
    },
    queue));
  maker.start();
  auto checkpoint = queue.get();
  EXPECT_EQ(checkpoint.load<int>(), 1);
  maker.kill();
  maker.join();
  EXPECT_THROW(checkpoint.load<int>(), Closed);
}

} // namespace
} // namespace fiber::e2e
