// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/plot.hpp"

#include <array>
#include <cerrno>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fiber/detail/classic_locale.hpp"
#include "fiber/rl/checkpoint_file.hpp"

namespace fiber::rl {
namespace {
namespace gnuplot {

namespace fs = std::filesystem;

std::string quoted(const std::string& text) {
  return gnuplot_string(text);
}

void write_frame(std::ostream& out, const PlotStyle& style) {
  out
    << "set datafile separator ','\nset datafile missing ''\n"
    << "set title " << quoted(style.title) << " font ',18' offset 0,0.3 noenhanced\n"
    << "set xlabel " << quoted(style.x_label) << " noenhanced\n"
    << "set ylabel " << quoted(style.y_label) << " noenhanced\n"
    << "set border 3 linecolor '#555555'\nset tics nomirror out\nset format x '%.0s%c'\n"
    << "set grid ytics linetype 1 linecolor '#e6e6e6' linewidth 1\n"
    << "set key below Left reverse samplen 2 height 1 noenhanced\n"
    << "set offsets graph 0, graph 0.02, graph 0.04, graph 0.02\nset xrange [0:*]\n"
    << "set autoscale yfix\n";
  if (style.logarithmic_y)
    out << "set logscale y\nset format y '10^{%L}'\n";
  if (style.solved_at)
    out << "set arrow 1 from graph 0, first " << *style.solved_at << " to graph 1, first "
        << *style.solved_at
        << " nohead linetype 1 dashtype '-' linecolor '#888888' linewidth 1.5\n"
        << "set rmargin 14\nset label 1 'solved at " << *style.solved_at
        << "' at graph 1.01, first " << *style.solved_at
        << " left textcolor '#666666'\n"; // Beside the plot: no curve crosses it.
}

std::string script(const fs::path& csv, const PlotStyle& style,
                   const std::vector<PlottedColumn>& columns) {
  constexpr std::array others = {"#e08a3c", "#6aa36f", "#a06cb0", "#8a8a8a"};
  fiber::detail::Classic<std::ostringstream> out;
  write_frame(out, style);
  if (style.point)
    out << "$point << EOD\n" << style.point->x << ',' << style.point->y << "\nEOD\n";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool front = i + 1 == columns.size();
    out << (i == 0 ? "plot " : ", \\\n     ") << quoted(csv.string())
        << " using 1:" << columns[i].column << " skip 1 with lines linewidth "
        << (front ? "3.5" : "2") << " linecolor '"
        << (front ? "#2a6ebb" : others[i % others.size()]) << "' title "
        << quoted(columns[i].title);
  }
  if (style.point)
    out << ", \\\n     $point using 1:2 with points pointtype 7 pointsize 2 linecolor "
           "'#c0392b' title "
        << quoted(style.point->title);
  out << '\n';
  return out.str();
}

/// No shell between: paths may hold any character. `-d`: without the user's settings, of
/// which `set decimalsign` would change how numbers of the CSV file are read. 0: it
/// cannot be started.
pid_t start(const fs::path& script) {
  std::string program = "gnuplot", defaults = "-d", argument = script.string();
  std::array<char*, 4> arguments = {program.data(), defaults.data(), argument.data(),
                                    nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  // A script that reads or pauses ends, instead of taking the input of the program.
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  sigset_t none;
  ::sigemptyset(&none); // What this thread blocks may end gnuplot.
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  if (::posix_spawnp(&pid, program.c_str(), &actions, &attributes, arguments.data(),
                     environ) != 0)
    pid = 0;
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return pid;
}

bool ends_well(pid_t pid, std::chrono::milliseconds limit) {
  using std::chrono::steady_clock;
  const auto start = steady_clock::now();
  const auto passed = [start] { // In milliseconds: the longest limit has no nanoseconds.
    return std::chrono::floor<std::chrono::milliseconds>(steady_clock::now() - start);
  };
  for (;;) {
    int status = 0;
    const auto ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid)
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ended < 0 && errno != EINTR)
      return false; // With SIGCHLD ignored, the exit code is lost.
    if (passed() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR)
      ;
    return false;
  }
}

} // namespace gnuplot
} // namespace

// Within a single-quoted string of gnuplot, a quote is doubled.
std::string gnuplot_string(const std::string& text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

bool plot_csv(const std::filesystem::path& csv, const std::filesystem::path& png,
              const PlotStyle& style, const std::vector<PlottedColumn>& columns) {
  return draw_script(png, gnuplot::script(csv, style, columns));
}

bool draw_script(const std::filesystem::path& png, const std::string& script, int width,
                 int height) {
  auto file = png;
  file.replace_extension(".gnuplot");
  fiber::detail::Classic<std::ostringstream> whole;
  whole << "set terminal pngcairo size " << width << ',' << height
        << " font 'DejaVu Sans,14' background '#ffffff'\nset output "
        << gnuplot_string(png.string()) << '\n'
        << script;
  write_atomically(file, whole.str());
  write_atomically(png, ""); // gnuplot would follow a link that is there.
  if (run_gnuplot(file))
    return true;
  std::filesystem::remove(png);
  return false;
}

bool run_gnuplot(const std::filesystem::path& script, std::chrono::milliseconds limit) {
  const auto pid = gnuplot::start(script);
  return pid > 0 && gnuplot::ends_well(pid, limit);
}

} // namespace fiber::rl
