// SPDX-License-Identifier: Apache-2.0
// The promise: whatever a job prints, the driver's terminal only shows it, each line with
// the job's name.
#include "backends/output/output.hpp"

#include <future>

#include "base/log.hpp"
#include "tests/backends/output/terminal.hpp"
#include "tests/wire/wire_fixture.hpp"

namespace fiber::backends {
namespace {

constexpr auto clipboard = "\x1b]52;c;ZXZpbA==\a";
constexpr auto clear_screen = "\x1b[2J\x1b[H";

TEST(Output, of_a_job_orders_a_terminal_nothing) {
  Terminal terminal;
  terminal.look();
  {
    Output output(true);
    output.add(1, "pool.w0");
    output.write(1, std::string(clipboard) + "\n" + clear_screen +
                      "\n\x1b[32mgreen\n\r[driver] all is well\n[driver] me too\n");
    output.close(1);
    EXPECT_TRUE(wire::eventually([&] { return terminal.shows("me too"); }));
  }
  terminal.close();
  auto text = terminal.text();
  EXPECT_EQ(text.find(clipboard), text.npos) << text;
  EXPECT_EQ(text.find(clear_screen), text.npos) << text;
  EXPECT_NE(text.find("[pool.w0] \\x1b]52;c;ZXZpbA==\\x07"), text.npos) << text;
  EXPECT_NE(text.find("\x1b[32mgreen\x1b[m"), text.npos) << text;
  EXPECT_TRUE(terminal.shows("[pool.w0] \\r[driver] all is well")) << text;
  EXPECT_TRUE(terminal.shows("[pool.w0] [driver] me too")) << text;
}

TEST(Output, that_meets_no_terminal_is_what_the_job_wrote) {
  testing::internal::CaptureStderr();
  {
    Output output(true);
    output.add(1, "w0");
    output.write(1, std::string(clipboard) + "\n");
    std::promise<void> written;
    output.finish(1, std::chrono::seconds(60), [&] { written.set_value(); });
    written.get_future().wait();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            std::string("[w0] ") + clipboard + "\n");
}

TEST(Output, that_a_log_record_quotes_orders_a_terminal_nothing) {
  Terminal terminal;
  terminal.look();
  log().warn("a job said: {}", std::string(clipboard) + "\n[fiber] error: forged");
  EXPECT_TRUE(wire::eventually([&] { return terminal.shows("forged"); }));
  terminal.close();
  auto text = terminal.text();
  EXPECT_EQ(text.find(clipboard), text.npos) << text;
  EXPECT_TRUE(terminal.shows("    [fiber] error: forged")) << text;
}

} // namespace
} // namespace fiber::backends
