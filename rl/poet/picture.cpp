// SPDX-License-Identifier: Apache-2.0
#include "rl/poet/picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "fiber/detail/classic_locale.hpp"
#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/plot.hpp"
#include "rl/poet/report.hpp"

namespace fiber::rl::poet {
namespace {

// In pixels.
constexpr int width = 1200, margin = 16, head = 64, strip = 158, text_rows = 46, gap = 14;

constexpr double length = Terrain::spacing * (Terrain::points - 1);
constexpr double goal = Terrain::spacing * (Terrain::points - 10);

/// Where the strips end, in metres: a little beyond the farthest agent.
double end_of(std::span<const Trace> traces) {
  constexpr double least = 40, beyond = 8;
  double farthest = least - beyond;
  for (const auto& trace : traces)
    for (const auto& spot : trace.path)
      farthest = std::max(farthest, spot.x);
  return std::min(farthest + beyond, length);
}

/// In gnuplot's single quotes.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text)
    result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

struct Range {
  double low = 0, high = 0;
};

/// The heights that a strip shows: all of the ground and the path, and at least as much
/// as makes a metre up as long as a metre to the right.
Range heights_of(const Trace& trace, double end) {
  auto low = std::numeric_limits<double>::infinity(), high = -low;
  const auto show = [&](double y) {
    low = std::min(low, y);
    high = std::max(high, y);
  };
  for (std::size_t i = 0; Terrain::spacing * static_cast<double>(i) < end; ++i)
    show(trace.terrain.heights[i]);
  for (const auto& box : trace.terrain.boxes)
    if (box.left < end)
      show(box.top);
  for (const auto& spot : trace.path)
    show(spot.y);
  low -= 0.6;
  high += 0.5;
  const double least = (strip - text_rows - gap) * end / (width - 2 * margin);
  const double missing = std::max(0.0, least - (high - low));
  return {low - missing * 0.35, high + missing * 0.65};
}

std::string origin_of(const PoetState& state, std::uint64_t id) {
  for (const auto& event : state.events)
    if (event.environment == id && event.what == Event::What::admitted)
      return "child of E" + std::to_string(event.parent) + ", since iteration " +
             std::to_string(event.iteration);
  return "since the start";
}

/// The last agents that came to this environment.
std::string transfers_of(const PoetState& state, std::uint64_t id) {
  constexpr std::size_t shown = 5;
  std::vector<std::string> all;
  for (const auto& event : state.events)
    if (event.environment == id && event.agent != 0)
      all.push_back("E" + std::to_string(event.agent) + " at " +
                    std::to_string(event.iteration) +
                    (event.way == Way::proposal ? "*" : ""));
  if (all.empty())
    return "agent: its own from the start";
  std::string words = "agents from: ";
  const auto first = all.size() - std::min(all.size(), shown);
  if (first > 0)
    words += "... ";
  for (auto i = first; i < all.size(); ++i)
    words += (i > first ? ", " : "") + all[i];
  return words;
}

void write_data(std::ostream& out, std::size_t index, const Trace& trace) {
  out << "$ground" << index << " << EOD\n";
  for (std::size_t i = 0; i < trace.terrain.heights.size(); ++i)
    out << Terrain::spacing * static_cast<double>(i) << ' ' << trace.terrain.heights[i]
        << '\n';
  out << "EOD\n$path" << index << " << EOD\n";
  for (std::size_t i = 0; i < trace.path.size(); i += 3)
    out << trace.path[i].x << ' ' << trace.path[i].y << '\n';
  out << "EOD\n$end" << index << " << EOD\n"
      << trace.path.back().x << ' ' << trace.path.back().y << "\nEOD\n";
}

/// A text at a distance from the upper corner of a strip, in pixels.
void write_label(std::ostream& out, const std::string& text, double x, double y,
                 int height, const char* look) {
  out << "set label " << quoted(text) << " at screen " << x / width << ", screen "
      << 1 - y / height << " front noenhanced " << look << '\n';
}

void write_labels(std::ostream& out, const PoetState& state, const Pair& pair,
                  const Trace& trace, double top, int height) {
  const auto id = pair.niche.id;
  fiber::detail::Classic<std::ostringstream> result;
  result << std::fixed << std::setprecision(1) << "return " << pair.score;
  fiber::detail::Classic<std::ostringstream> end;
  end << std::fixed << std::setprecision(0)
      << (trace.fell                    ? "fell at "
          : trace.path.back().x >= goal ? "reached the end, "
                                        : "out of time at ")
      << trace.path.back().x << " m";
  write_label(out, "E" + std::to_string(id), margin, top + 11, height,
              "font 'DejaVu Sans Bold,13' textcolor '#1f3a5f'");
  write_label(out, describe(pair.niche.parameters), margin + 54, top + 11, height,
              "font ',12' textcolor '#222222'");
  write_label(out, origin_of(state, id) + "  |  " + transfers_of(state, id), margin + 54,
              top + 31, height, "font ',10' textcolor '#6b6b6b'");
  write_label(out, result.str(), width - margin, top + 11, height,
              "right font 'DejaVu Sans Bold,12' textcolor '#1f3a5f'");
  write_label(out, end.str(), width - margin, top + 31, height,
              trace.fell ? "right font ',10' textcolor '#b03a2e'"
                         : "right font ',10' textcolor '#3d7a3a'");
}

/// The walker at the begin of a path, to scale: its hull and its legs, which hang down.
void write_walker(std::ostream& out, const Spot& at) {
  constexpr double scale = 30, leg = 2 * 34 / scale; // As in bipedal_walker_world.cpp.
  constexpr std::array<std::array<double, 2>, 5> hull{
    {{-30, 9}, {6, 9}, {34, 1}, {34, -8}, {-30, -8}}};
  out << "set object polygon";
  for (std::size_t i = 0; i <= hull.size(); ++i)
    out << (i == 0 ? " from " : " to ") << at.x + hull[i % hull.size()][0] / scale << ", "
        << at.y + hull[i % hull.size()][1] / scale;
  out << " front fillcolor '#7d67b0' fillstyle solid noborder\n";
  for (const double side : {-0.12, 0.12})
    out << "set arrow from " << at.x + side << ", " << at.y - 8 / scale << " to "
        << at.x + side << ", " << at.y - 8 / scale - leg
        << " nohead front linecolor '#7d67b0' linewidth 3\n";
}

/// A bar of five metres at the upper right of a strip.
void write_scale(std::ostream& out, double end) {
  out
    << "set arrow from " << end - 6 << ", graph 0.84 to " << end - 1
    << ", graph 0.84 heads size screen 0.004,90 front linecolor '#444444' linewidth 1.5\n"
    << "set label '5 m' at " << end - 3.5
    << ", graph 0.66 center front font ',10' textcolor '#444444'\n";
}

void write_strip(std::ostream& out, const PoetState& state, std::size_t index,
                 const Trace& trace, double end, int height) {
  const double top = head + static_cast<double>(index) * strip;
  const auto range = heights_of(trace, end);
  out << "unset label\nunset object\nunset arrow\n";
  write_labels(out, state, state.pairs[index], trace, top, height);
  out << "set lmargin at screen " << double{margin} / width << "\nset rmargin at screen "
      << 1 - double{margin} / width << "\nset tmargin at screen "
      << 1 - (top + text_rows) / height << "\nset bmargin at screen "
      << 1 - (top + strip - gap) / height << "\nset xrange [0:" << end
      << "]\nset yrange [" << range.low << ':' << range.high << "]\n"
      << "set object rectangle from graph 0, 0 to graph 1, 1 behind fillcolor '#f3f7fb' "
         "fillstyle solid noborder\n";
  if (index == 0) {
    write_walker(out, trace.path.front());
    write_scale(out, end);
  }
  if (end > goal)
    out << "set arrow from first " << goal << ", graph 0 to first " << goal
        << ", graph 1 nohead linecolor '#9ec29b' linewidth 2 dashtype 2 back\n";
  for (const auto& box : trace.terrain.boxes)
    if (box.left < end)
      out << "set object rectangle from " << box.left << ", "
          << std::max(box.bottom, range.low) << " to " << std::min(box.right, end) << ", "
          << box.top << " front fillcolor '#8d8271' fillstyle solid noborder\n";
  out << "plot $ground" << index << " with filledcurves y1=" << range.low
      << " linecolor '#cfc6b6' notitle, $ground" << index
      << " with lines linecolor '#6f6553' linewidth 1.5 notitle, $path" << index
      << " with lines linecolor '#2a6ebb' linewidth 2 notitle, $end" << index
      << " with points pointtype " << (trace.fell ? 2 : 7) << " pointsize "
      << (trace.fell ? 1.6 : 1.2) << " linewidth 2.5 linecolor '"
      << (trace.fell ? "#c0392b" : "#3d8b3a") << "' notitle\n";
}

std::string script(const std::filesystem::path& png, const PoetState& state,
                   std::span<const Trace> traces, const std::string& title) {
  const double end = end_of(traces);
  const int height = head + strip * static_cast<int>(traces.size()) + 4;
  fiber::detail::Classic<std::ostringstream> out;
  out << "set terminal pngcairo size " << width << "," << height
      << " font 'DejaVu Sans,12' background '#ffffff'\nset output "
      << quoted(png.string()) << "\nunset border\nunset tics\nunset key\n";
  for (std::size_t i = 0; i < traces.size(); ++i)
    write_data(out, i, traces[i]);
  out << "set multiplot\n";
  for (std::size_t i = 0; i < traces.size(); ++i)
    write_strip(out, state, i, traces[i], end, height);
  // The head, on a plot of its own that shows nothing else.
  out << "unset label\nunset object\nunset arrow\nset xrange [0:1]\nset yrange [0:1]\n";
  write_label(out, title, margin, 20, height, "font ',16' textcolor '#222222'");
  write_label(out,
              "blue: the way of the hull in one episode, from where the walker is; *: "
              "the agent came after a "
              "step of the search there (proposal)",
              margin, 44, height, "font ',10' textcolor '#6b6b6b'");
  out << "plot 2 notitle\nunset multiplot\n";
  return std::move(out).str();
}

} // namespace

bool draw_pairs(const std::filesystem::path& png, const PoetState& state,
                std::span<const Trace> traces, const std::string& title) {
  if (traces.size() != state.pairs.size() || traces.empty())
    throw std::invalid_argument("a picture of " + std::to_string(state.pairs.size()) +
                                " pairs needs as many episodes, not " +
                                std::to_string(traces.size()));
  auto file = png;
  file.replace_extension(".gnuplot");
  write_atomically(file, script(png, state, traces, title));
  return run_gnuplot(file) && std::filesystem::exists(png);
}

} // namespace fiber::rl::poet
