// SPDX-License-Identifier: Apache-2.0
#include "es/files.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/vector.hpp>

namespace es {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view checkpoint_magic = "fiber-es-checkpoint 1\n";
constexpr std::string_view policy_magic = "fiber-es-policy 1";

class File {
public:
  File(const fs::path& path, int flags)
    : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    check(fd_ >= 0, "open");
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(std::string_view content) {
    while (!content.empty()) {
      const auto written = ::write(fd_, content.data(), content.size());
      if (written < 0 && errno == EINTR)
        continue;
      check(written >= 0, "write");
      content.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void sync() { check(::fsync(fd_) == 0, "sync"); }

private:
  void check(bool good, const char* what) const {
    if (!good)
      throw std::system_error(errno, std::generic_category(),
                              std::string("cannot ") + what + " " + path_.string());
  }

  fs::path path_;
  int fd_;
};

// FNV-1a: finds damage, not malice.
std::uint64_t checksum(std::string_view content) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : content)
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    if (!fs::exists(path))
      return {};
    throw std::runtime_error("cannot read " + path.string());
  }
  std::ostringstream content;
  content << in.rdbuf();
  return std::move(content).str();
}

// The shortest decimal form that reads back as the same number.
template <class Number>
std::string text(Number number) {
  std::array<char, 64> buffer;
  const auto end =
    std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return {buffer.data(), end};
}

// Takes one line "KEY VALUE" and returns the value.
std::string take_line(std::istream& in, std::string_view key, const fs::path& path) {
  std::string line;
  if (!std::getline(in, line) || !line.starts_with(key) || line.size() <= key.size() ||
      line[key.size()] != ' ')
    throw std::runtime_error(path.string() + ": expected a line \"" + std::string(key) +
                             " ...\"");
  return line.substr(key.size() + 1);
}

template <class Number>
Number parsed(const std::string& value, const fs::path& path) {
  Number number = {};
  const auto end = value.data() + value.size();
  const auto result = std::from_chars(value.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end)
    throw std::runtime_error(path.string() + ": \"" + value + "\" is not a number");
  return number;
}

} // namespace

void write_atomically(const fs::path& path, std::string_view content) {
  auto temporary = path;
  temporary += ".new";
  {
    File file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    file.write(content);
    file.sync(); // Before the rename, or the new name could appear before the content.
  }
  fs::rename(temporary, path);
  const auto folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  File(folder, O_RDONLY | O_DIRECTORY).sync();
}

void save_checkpoint(const fs::path& path, const std::string& fingerprint,
                     const TrainingState& state) {
  std::ostringstream payload;
  {
    boost::archive::binary_oarchive archive(payload);
    archive& fingerprint& state;
  }
  const auto bytes = std::move(payload).str();
  const auto sum = checksum(bytes);
  std::string content(checkpoint_magic);
  content.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  content += bytes;
  write_atomically(path, content);
}

std::optional<TrainingState> load_checkpoint(const fs::path& path,
                                             const std::string& fingerprint) {
  const auto content = read_file(path);
  if (!content)
    return {};
  std::uint64_t sum = 0;
  const auto header = checkpoint_magic.size() + sizeof sum;
  if (content->size() < header || !content->starts_with(checkpoint_magic))
    throw std::runtime_error(path.string() + " is not a checkpoint of this program");
  std::memcpy(&sum, content->data() + checkpoint_magic.size(), sizeof sum);
  if (checksum(std::string_view(*content).substr(header)) != sum)
    throw std::runtime_error(path.string() + " is damaged: its checksum does not match");

  std::istringstream payload(content->substr(header));
  boost::archive::binary_iarchive archive(payload);
  std::string saved;
  TrainingState state;
  archive& saved;
  if (saved != fingerprint)
    throw std::runtime_error(path.string() + " was saved with other options:\n  saved: " +
                             saved + "\n  now:   " + fingerprint);
  archive& state;
  return state;
}

void save_policy(const fs::path& path, const SavedPolicy& policy) {
  std::string content(policy_magic);
  content += "\nenvironment " + policy.environment;
  content += "\nobservations " + text(policy.shape.observations);
  content += "\nhidden " + text(policy.shape.hidden);
  content += "\nactions " + text(policy.shape.actions);
  content += "\nparameters " + text(policy.parameters.size()) + "\n";
  for (float parameter : policy.parameters)
    content += text(parameter) + "\n";
  write_atomically(path, content);
}

SavedPolicy load_policy(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  if (!in || !std::getline(in, line) || line != policy_magic)
    throw std::runtime_error(path.string() + " is not a policy of this program");
  auto count = [&](std::string_view key) {
    return parsed<std::size_t>(take_line(in, key, path), path);
  };
  SavedPolicy policy;
  policy.environment = take_line(in, "environment", path);
  policy.shape.observations = count("observations");
  policy.shape.hidden = count("hidden");
  policy.shape.actions = count("actions");
  const auto size = count("parameters");
  while (std::getline(in, line))
    policy.parameters.push_back(parsed<float>(line, path));
  if (policy.parameters.size() != size || size != policy.shape.parameter_count())
    throw std::runtime_error(path.string() +
                             " has another number of parameters than it says");
  return policy;
}

void save_curve(const fs::path& path, const std::vector<CurvePoint>& curve) {
  std::string content =
    "iteration,population_mean,population_best,policy_mean,seconds,episodes\n";
  for (const auto& point : curve)
    content += text(point.iteration) + ',' + text(point.population_mean) + ',' +
               text(point.population_best) + ',' + text(point.policy_mean) + ',' +
               text(point.seconds) + ',' + text(point.episodes) + '\n';
  write_atomically(path, content);
}

} // namespace es
