// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/plot.hpp"

#include <array>
#include <cerrno>
#include <sstream>

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

bool run_gnuplot(const std::filesystem::path& script) {
  // No shell between: paths may hold any character.
  std::string program = "gnuplot";
  std::string argument = script.string();
  std::array<char*, 3> arguments = {program.data(), argument.data(), nullptr};
  pid_t pid = 0;
  if (::posix_spawnp(&pid, program.c_str(), nullptr, nullptr, arguments.data(),
                     environ) != 0)
    return false;
  int status = 0;
  pid_t ended = 0;
  do
    ended = ::waitpid(pid, &status, 0);
  while (ended < 0 && errno == EINTR);
  return ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace fiber::rl
