// SPDX-License-Identifier: Apache-2.0
#include "es/plot.hpp"

#include <array>
#include <sstream>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fiber/rl/checkpoint_file.hpp>

namespace es {
namespace {

namespace fs = std::filesystem;

// Within a single-quoted string of gnuplot, a quote is doubled.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

std::string script(const fs::path& csv, const fs::path& png, const PlotText& text,
                   const std::vector<PlottedColumn>& columns) {
  const auto& mark = text.mark;
  std::ostringstream out;
  out
    << "set terminal pngcairo size 1200,720 font 'DejaVu Sans,14' background '#ffffff'\n"
    << "set output " << quoted(png.string()) << "\n"
    << "set datafile separator ','\n"
    << "set title " << quoted(text.title) << " font ',18' offset 0,0.3 noenhanced\n"
    << "set xlabel " << quoted(text.x) << "\nset ylabel " << quoted(text.y) << "\n"
    << "set border 3 linecolor '#555555'\nset tics nomirror out\n"
    << "set grid ytics linetype 1 linecolor '#e6e6e6' linewidth 1\n"
    << "set key bottom right Left reverse samplen 2 spacing 1.3\n"
    << "set offsets graph 0, graph 0.02, graph 0.04, graph 0.02\nset xrange [*:*]\n";
  if (mark)
    out << "set arrow 1 from graph 0, first " << *mark << " to graph 1, first " << *mark
        << " nohead linetype 1 dashtype '-' linecolor '#888888' linewidth 1.5\n"
        << "set label 1 'solved at " << *mark << "' at graph 0.985, first " << *mark
        << " right offset 0,-0.8 textcolor '#666666'\n";
  // The last one is what the plot is about.
  const std::array<const char*, 3> others = {"#e08a3c", "#7fb069", "#b0b0b0"};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool last = i + 1 == columns.size();
    out << (i == 0 ? "plot " : ", \\\n     ") << quoted(csv.string())
        << " using 1:" << columns[i].column << " skip 1 with lines linewidth "
        << (last ? "3.5" : "2.5") << " linecolor '"
        << (last ? "#2a6ebb" : others[i % others.size()]) << "' title "
        << quoted(columns[i].title);
  }
  out << '\n';
  return out.str();
}

} // namespace

bool plot_curve(const fs::path& csv, const fs::path& png, const PlotText& text,
                const std::vector<PlottedColumn>& columns) {
  auto file = png;
  file.replace_extension(".gnuplot");
  fiber::rl::write_atomically(file, script(csv, png, text, columns));

  // No shell between: paths may hold any character.
  std::string program = "gnuplot";
  std::string argument = file.string();
  std::array<char*, 3> arguments = {program.data(), argument.data(), nullptr};
  pid_t pid = 0;
  if (::posix_spawnp(&pid, program.c_str(), nullptr, nullptr, arguments.data(),
                     environ) != 0)
    return false;
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0 && fs::exists(png);
}

} // namespace es
