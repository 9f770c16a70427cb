// SPDX-License-Identifier: Apache-2.0
#include <sstream>
#include <stdexcept>

#include "fiber/detail/classic_locale.hpp"
#include "fiber/rl/map_elites.hpp"
#include "fiber/rl/plot.hpp"

namespace fiber::rl {

bool draw_archive(const std::filesystem::path& png, const GridArchive& archive,
                  const ArchiveStyle& style) {
  const auto& axes = archive.axes();
  if (axes.size() != 2)
    throw std::invalid_argument("an archive of " + std::to_string(axes.size()) +
                                " axes can't be drawn; one of two can");
  const auto& [columns, left, right] = axes[0];
  const auto& [rows, low, high] = axes[1];
  const auto width = (right - left) / static_cast<double>(columns);
  const auto height = (high - low) / static_cast<double>(rows);
  fiber::detail::Classic<std::ostringstream> out;
  out.precision(10);
  out << "$elites << END\n";
  for (const auto& [cell, elite] : archive.elites())
    out << left + width * (static_cast<double>(cell / rows) + 0.5) << ' '
        << low + height * (static_cast<double>(cell % rows) + 0.5) << ' '
        << elite.behaviour.objective << '\n';
  out << "END\nset title " << gnuplot_string(style.title) << " noenhanced\nset xlabel "
      << gnuplot_string(style.x_label) << "\nset ylabel " << gnuplot_string(style.y_label)
      << "\nset cblabel " << gnuplot_string(style.objective_label) << "\nset xrange ["
      << left << ':' << right << "]\nset yrange [" << low << ':' << high
      << "]\nset tics out nomirror\nunset key\nset style fill solid noborder\n"
         "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21908d', 3 '#5dc963', 4 "
         "'#fde725')\n"
         "plot $elites using 1:2:("
      << width / 2 << "):(" << height / 2 << "):3 with boxxyerror fillcolor palette\n";
  return draw_script(png, out.str(), 900, 720);
}

} // namespace fiber::rl
