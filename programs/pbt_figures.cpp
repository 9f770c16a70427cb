// SPDX-License-Identifier: Apache-2.0
#include "pbt_figures.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

#include <fiber/rl/checkpoint_file.hpp>
#include <fiber/rl/plot.hpp>

#include "fiber/detail/classic_locale.hpp"

namespace pbt {
namespace {

namespace fs = std::filesystem;
namespace rl = fiber::rl;

constexpr auto one = "#2a6ebb", other = "#e08a3c", pale = "#c9c9c9";

void frame(std::ostream& out) {
  out << "set datafile separator ','\nset datafile missing ''\nset border 3 linecolor "
         "'#555555'\nset tics nomirror out\n"
         "set grid linetype 1 linecolor '#e6e6e6' linewidth 1\n";
}

std::string table(const std::string& header,
                  const std::vector<std::vector<double>>& rows) {
  fiber::detail::Classic<std::ostringstream> out;
  out.precision(10);
  out << header << '\n';
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      out << (i == 0 ? "" : ",") << row[i];
    out << '\n';
  }
  return std::move(out).str();
}

/// A panel of all members in pale lines, the best one's ancestors in blue.
void member_panel(std::ostream& out, const std::string& label, int column,
                  bool logarithmic, std::size_t members, const fs::path& folder) {
  const auto csv = rl::gnuplot_string((folder / "pbt.csv").string());
  const auto line = rl::gnuplot_string((folder / "lineage.csv").string());
  out << "set ylabel " << rl::gnuplot_string(label) << " noenhanced\n"
      << (logarithmic ? "set logscale y\n" : "unset logscale y\n");
  out << "plot for [m=0:" << members - 1 << "] " << csv << " every " << members
      << "::m using 1:" << column << " skip 1 with lines linewidth 1.2 linecolor '"
      << pale << "' notitle, " << line << " using 1:" << column
      << " skip 1 with lines linewidth 3 linecolor '" << one << "' notitle";
}

/// A panel of the mean scores of all members, from OUT/means.csv, which it writes.
void mean_panel(std::ostream& out, const std::vector<rl::PopulationRound>& history,
                const std::vector<rl::PopulationRound>& random_history,
                const fs::path& folder) {
  std::vector<std::vector<double>> means;
  const auto rounds = std::min(history.size(), random_history.size());
  for (std::size_t round = 0; round < rounds; ++round)
    means.push_back({static_cast<double>(round + 1), mean_of(history[round].scores),
                     mean_of(random_history[round].scores)});
  rl::write_atomically(folder / "means.csv", table("round,pbt,random", means));
  const auto csv = rl::gnuplot_string((folder / "means.csv").string());
  out << "set ylabel 'mean score of all members'\nunset logscale y\nplot " << csv
      << " using 1:3 skip 1 with lines linewidth 3 linecolor '" << other << "', " << csv
      << " using 1:2 skip 1 with lines linewidth 3 linecolor '#777777'\n";
}

/// What a colour means in all panels: an entry of the line below the title.
void write_key(std::ostream& out, double x, const char* colour, const char* text) {
  out << "set label '\u2014 " << text << "' at screen " << x << ", 0.915 textcolor '"
      << colour << "'\n";
}

} // namespace

bool save_toy(const fs::path& out, const std::vector<ToyRun>& runs) {
  fiber::detail::Classic<std::ostringstream> script;
  frame(script);
  script << "set multiplot layout 2," << runs.size()
         << " title 'Population-based training on the toy of Jaderberg et al. 2017' "
            "font ',18' margins screen 0.06, 0.98, 0.12, 0.83 spacing screen 0.07, 0.17\n"
            "unset key\n";
  write_key(script, 0.4, one, "member 1");
  write_key(script, 0.52, other, "member 2");
  std::vector<std::string> files;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto csv = out / ("toy_" + std::to_string(i + 1) + ".csv");
    rl::write_atomically(
      csv,
      table("step,theta0_1,theta1_1,score_1,theta0_2,theta1_2,score_2", runs[i].rows));
    files.push_back(rl::gnuplot_string(csv.string()));
  }
  auto lines = [&](const std::string& file, const char* first, const char* second,
                   const char* style) {
    script << "plot " << file << " using " << first << " skip 1 with " << style
           << " linecolor '" << one << "', " << file << " using " << second
           << " skip 1 with " << style << " linecolor '" << other
           << "' dashtype 2\nunset label\n"; // Dashes show a line below.
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    script << "set title " << rl::gnuplot_string(runs[i].title)
           << " noenhanced\nset xlabel 'theta 0'\nset ylabel 'theta 1'\n"
              "set xrange [-0.03:0.95]\nset yrange [-0.03:0.95]\nset xtics 0.3\n";
    lines(files[i], "2:3", "5:6", "points pointtype 7 pointsize 0.5");
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    script << "set title ' '\nset xlabel 'step'\nset ylabel 'score (optimum 1.2)'\n"
              "set xrange [0:*]\nset yrange [-0.5:1.3]\nset xtics autofreq\n";
    lines(files[i], "1:4", "1:7", "lines linewidth 2.5");
  }
  script << "unset multiplot\n";
  return rl::draw_script(out / "pbt.png", script.str(), 1600, 800);
}

void save_history(const fs::path& csv, const std::vector<rl::PopulationRound>& history,
                  const std::vector<rl::HyperparameterRange>& ranges) {
  std::string header = "round,member,source,score";
  for (const auto& range : ranges)
    header += "," + range.name;
  std::vector<std::vector<double>> rows;
  for (std::size_t round = 0; round < history.size(); ++round)
    for (std::size_t member = 0; member < history[round].scores.size(); ++member) {
      std::vector<double> row = {static_cast<double>(round + 1),
                                 static_cast<double>(member),
                                 static_cast<double>(history[round].sources[member]),
                                 history[round].scores[member]};
      const auto& values = history[round].hyperparameters[member];
      row.insert(row.end(), values.begin(), values.end());
      rows.push_back(std::move(row));
    }
  rl::write_atomically(csv, table(header, rows));
}

std::vector<std::size_t> ancestors_of(std::size_t member,
                                      const std::vector<rl::PopulationRound>& history) {
  std::vector<std::size_t> ancestors(history.size());
  for (auto round = history.size(); round > 0; --round) {
    ancestors[round - 1] = member;
    if (round > 1) // Whose state it had at the begin of this round.
      member = history[round - 2].sources[member];
  }
  return ancestors;
}

double mean_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) /
         static_cast<double>(numbers.size());
}

bool draw_history(const fs::path& out, const std::string& title, std::size_t best,
                  const std::vector<rl::PopulationRound>& history,
                  const std::vector<rl::PopulationRound>& random_history,
                  const std::vector<rl::HyperparameterRange>& ranges) {
  const auto ancestors = ancestors_of(best, history);
  std::vector<std::vector<double>> lineage;
  for (std::size_t round = 0; round < history.size(); ++round) {
    const auto member = ancestors[round];
    lineage.push_back({static_cast<double>(round + 1), static_cast<double>(member),
                       static_cast<double>(history[round].sources[member]),
                       history[round].scores[member]});
    const auto& values = history[round].hyperparameters[member];
    lineage.back().insert(lineage.back().end(), values.begin(), values.end());
  }
  rl::write_atomically(out / "lineage.csv",
                       table("round,member,source,score,...", lineage));

  const auto members = history.front().scores.size();
  const auto csv = rl::gnuplot_string((out / "pbt.csv").string());
  const auto random = rl::gnuplot_string((out / "random.csv").string());
  fiber::detail::Classic<std::ostringstream> script;
  frame(script);
  const auto columns = (2 + ranges.size() + 1) / 2;
  const bool has_means = ranges.size() % 2 == 1;
  script << "set multiplot layout 2," << columns
         << " margins screen 0.11, 0.98, 0.1, 0.87 spacing screen 0.12, 0.14 title "
         << rl::gnuplot_string(title)
         << " font ',18' noenhanced\nset xlabel 'round'\nset xrange [1:*]\n"
            "set format y '%g'\nunset key\n";
  write_key(script, 0.11, "#8a8a8a", "members");
  write_key(script, 0.25, one, "the best member and its ancestors");
  write_key(script, 0.62, other, "random search");
  write_key(script, 0.81, "#222222", "copies (arrows)");
  member_panel(script, "score", 4, false, members, out);
  script << ", for [m=0:" << members - 1 << "] " << random << " every " << members
         << "::m using 1:4 skip 1 with lines linewidth 1.2 linecolor '" << other
         << "' notitle\nunset label\n";
  member_panel(script, "member", 2, false, members, out);
  script
    << ", " << csv << " using ($2 == $3 ? 1/0 : $1):3:(0):($2-$3) skip 1 with "
    << "vectors head size screen 0.008,25 filled linewidth 1.6 linecolor '#444444'\n";
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    member_panel(script, ranges[i].name, static_cast<int>(5 + i), ranges[i].logarithmic,
                 members, out);
    script << '\n';
  }
  if (has_means)
    mean_panel(script, history, random_history, out);
  script << "unset multiplot\n";
  return rl::draw_script(out / "pbt.png", script.str(), static_cast<int>(560 * columns),
                         730);
}

} // namespace pbt
