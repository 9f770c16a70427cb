// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <sstream>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "es/files.hpp"

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

std::string script(const fs::path& csv, const fs::path& png, const std::string& title,
                   std::optional<double> mark,
                   const std::vector<PlottedColumn>& columns) {
  std::ostringstream out;
  out
    << "set terminal pngcairo size 1200,720 font 'DejaVu Sans,14' background '#ffffff'\n"
    << "set output " << quoted(png.string()) << "\n"
    << "set datafile separator ','\n"
    << "set title " << quoted(title) << " font ',18' offset 0,0.3 noenhanced\n"
    << "set xlabel 'iteration'\nset ylabel 'return of an episode'\n"
    << "set border 3 linecolor '#555555'\nset tics nomirror out\n"
    << "set grid ytics linetype 1 linecolor '#e6e6e6' linewidth 1\n"
    << "set key bottom right Left reverse samplen 2 spacing 1.3\n"
    << "set offsets graph 0, graph 0.02, graph 0.04, graph 0.02\nset xrange [1:*]\n";
  if (mark)
    out << "set arrow 1 from graph 0, first " << *mark << " to graph 1, first " << *mark
        << " nohead linetype 1 dashtype '-' linecolor '#888888' linewidth 1.5\n"
        << "set label 1 'solved at " << *mark << "' at graph 0.985, first " << *mark
        << " right offset 0,-0.8 textcolor '#666666'\n";
  // The last one is what the plot is about.
  for (std::size_t i = 0; i < columns.size(); ++i)
    out << (i == 0 ? "plot " : ", \\\n     ") << quoted(csv.string())
        << " using 1:" << columns[i].column << " skip 1 with lines "
        << (i + 1 == columns.size() ? "linewidth 3.5 linecolor '#2a6ebb' "
                                    : "linewidth 2.5 linecolor '#e08a3c' ")
        << "title " << quoted(columns[i].title);
  out << '\n';
  return out.str();
}

} // namespace

bool plot_curve(const fs::path& csv, const fs::path& png, const std::string& title,
                std::optional<double> mark, const std::vector<PlottedColumn>& columns) {
  auto file = png;
  file.replace_extension(".gnuplot");
  write_atomically(file, script(csv, png, title, mark, columns));

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
