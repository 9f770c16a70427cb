// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/training_log.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fcntl.h>

#include "fiber/detail/classic_locale.hpp"
#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/event_file.hpp"
#include "rl/storage/file.hpp"

namespace fiber::rl {

// Not anonymous: TrainingLog::Impl has members of these types.
namespace training_csv {

namespace fs = std::filesystem;

// The shortest decimal form that reads back as the same number.
template <class Number>
std::string text(Number number) {
  std::array<char, 64> buffer;
  const auto end =
    std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return {buffer.data(), end};
}

std::string header(const std::vector<std::string>& columns) {
  std::string line = "step";
  for (const auto& column : columns) {
    if (column.empty() || column.find_first_of(",\n\r\"") != std::string::npos)
      throw std::invalid_argument("the log cannot have a column named \"" + column +
                                  "\": no commas, quotes or line breaks");
    line += ',' + column;
  }
  return line;
}

// The lines of a log up to a step, and that step, if there is a row at all.
struct Kept {
  std::string content;
  std::optional<std::uint64_t> last_step = {};
};

Kept rows_until(const fs::path& path, const std::string& header, std::uint64_t step) {
  Kept kept{.content = header + '\n'};
  fiber::detail::Classic<std::ifstream> in(path);
  if (!in)
    return kept;
  std::string line;
  std::getline(in, line);
  if (line != header)
    throw std::runtime_error(path.string() + " has other columns:\n  there: " + line +
                             "\n  now:   " + header);
  // A last line without an end was cut off by a crash, and so is of a later step.
  while (std::getline(in, line) && !in.eof()) {
    std::uint64_t at = 0;
    const auto* end = line.data() + line.size();
    const auto parsed = std::from_chars(line.data(), end, at);
    if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ',')
      throw std::runtime_error(path.string() + " is no log: its line \"" + line +
                               "\" does not begin with a step");
    if (at > step)
      break;
    kept.content += line + '\n';
    kept.last_step = at;
  }
  return kept;
}

constexpr std::string_view event_prefix = "events.out.tfevents.";
constexpr std::string_view event_suffix = ".fiber-rl"; // Others' files are left alone.

std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with(event_prefix) && name.ends_with(event_suffix))
      files.push_back(entry.path());
  }
  return files;
}

// TensorBoard reads files in the order of their names: seconds come first, and a file of
// the same second comes later.
fs::path new_event_file(const fs::path& folder, std::int64_t seconds) {
  for (;; ++seconds) {
    const auto path =
      folder / (std::string(event_prefix) + text(seconds) + std::string(event_suffix));
    if (!fs::exists(path))
      return path;
  }
}

double now() {
  return std::chrono::duration<double>(
           std::chrono::system_clock::now().time_since_epoch())
    .count();
}

} // namespace training_csv

struct TrainingLog::Impl {
  explicit Impl(TrainingLogOptions given) : options(std::move(given)) {
    namespace fs = std::filesystem;
    const auto header = training_csv::header(options.columns);
    fs::create_directories(options.folder);
    const auto path = options.folder / "curve.csv";
    training_csv::Kept kept{.content = header + '\n'};
    if (options.resume_after)
      kept = training_csv::rows_until(path, header, *options.resume_after);
    last_step = kept.last_step;
    write_atomically(path, kept.content);
    csv.emplace(path, O_WRONLY | O_APPEND);
    for (const auto& file : training_csv::event_files(options.folder))
      if (options.resume_after)
        EventFile::drop_after(file, *options.resume_after);
      else
        fs::remove(file);
    if (!options.tensorboard)
      return;
    const auto now = training_csv::now();
    events.emplace(
      training_csv::new_event_file(options.folder, static_cast<std::int64_t>(now)),
      options.resume_after ? *options.resume_after + 1 : 0, now);
  }

  TrainingLogOptions options;
  std::optional<std::uint64_t> last_step;
  std::optional<storage::File> csv;
  std::optional<EventFile> events;
};

TrainingLog::TrainingLog(TrainingLogOptions options)
  : impl_(std::make_unique<Impl>(std::move(options))) {}

TrainingLog::~TrainingLog() = default;

void TrainingLog::add(std::uint64_t step, std::span<const double> values) {
  const auto& columns = impl_->options.columns;
  if (values.size() != columns.size())
    throw std::invalid_argument("the log has " + std::to_string(columns.size()) +
                                " columns, not " + std::to_string(values.size()));
  if (impl_->last_step && step <= *impl_->last_step)
    throw std::invalid_argument("the log is at step " +
                                std::to_string(*impl_->last_step) +
                                " and cannot go back to " + std::to_string(step));
  auto line = training_csv::text(step);
  EventFile::Scalars scalars;
  for (std::size_t i = 0; i < values.size(); ++i) {
    line += ',';
    if (std::isnan(values[i]))
      continue;
    line += training_csv::text(values[i]);
    scalars.emplace_back(columns[i], values[i]);
  }
  impl_->csv->write(line + '\n');
  impl_->last_step = step;
  if (impl_->events)
    impl_->events->add(step, training_csv::now(), scalars);
}

void TrainingLog::sync() {
  impl_->csv->sync();
  if (impl_->events)
    impl_->events->sync();
}

bool TrainingLog::plot(const std::vector<std::string>& columns,
                       const PlotStyle& style) const {
  std::vector<PlottedColumn> plotted;
  const auto& known = impl_->options.columns;
  for (const auto& name : columns) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end())
      throw std::invalid_argument("the log has no column \"" + name + '"');
    plotted.push_back(
      {.column = static_cast<int>(found - known.begin()) + 2, .title = name});
  }
  return plot_csv(csv(), impl_->options.folder / "curve.png", style, plotted);
}

std::filesystem::path TrainingLog::csv() const {
  return impl_->options.folder / "curve.csv";
}

} // namespace fiber::rl
