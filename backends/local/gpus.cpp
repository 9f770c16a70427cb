// SPDX-License-Identifier: Apache-2.0
// Which GPUs this machine has.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "backends/local/gpu_table.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::local {

namespace {

namespace fs = std::filesystem;

/// Returns the device names in a list such as CUDA_VISIBLE_DEVICES. Like CUDA, ignores
/// what follows a -1.
std::vector<std::string> names_in(const char* text) {
  fiber::detail::Classic<std::istringstream> list(text);
  std::vector<std::string> names;
  for (std::string name; std::getline(list, name, ',') && name != "-1";)
    if (!name.empty())
      names.push_back(name);
  return names;
}

/// Returns the entries of a folder whose names `order` accepts, in its order; none if the
/// folder can't be read.
template <class Order>
std::vector<fs::path> entries(const fs::path& folder, Order order) {
  std::vector<std::pair<std::remove_cvref_t<decltype(*order(""))>, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (auto key = order(at->path().filename().string()))
      found.emplace_back(*key, at->path());
  std::ranges::sort(found);
  std::vector<fs::path> paths;
  for (auto& [key, path] : found)
    paths.push_back(path);
  return paths;
}

std::optional<unsigned> number(const std::string& text) {
  unsigned value = 0;
  auto* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

/// Returns the value of `key` in a file with lines "KEY VALUE" or "KEY: VALUE".
std::string value_of(const fs::path& file, const std::string& key) {
  fiber::detail::Classic<std::ifstream> lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key))
      continue;
    auto from = line.find_first_not_of(": \t", key.size());
    auto to = line.find_last_not_of(" \t\r");
    if (from != line.npos && from > key.size())
      return line.substr(from, to + 1 - from);
  }
  return {};
}

/// Returns NVIDIA's devices of this process. A container may have only some of those that
/// /proc lists, and some kernels of containers have no such list.
std::optional<Gpus> nvidia(const fs::path& root) {
  Gpus gpus;
  auto by_bus = [](const std::string& name) { return std::optional(name); };
  for (auto& gpu : entries(root / "proc/driver/nvidia/gpus", by_bus))
    if (auto minor = value_of(gpu / "information", "Device Minor");
        !minor.empty() && fs::exists(root / ("dev/nvidia" + minor)))
      gpus.names.push_back(value_of(gpu / "information", "GPU UUID"));
  auto is_uuid = [](auto& name) {
    return name.starts_with("GPU-") && name.find('?') == name.npos;
  };
  if (!gpus.names.empty() && std::ranges::all_of(gpus.names, is_uuid))
    return gpus;
  auto count = gpus.names.size();
  if (count == 0)
    count = entries(root / "dev", [](const std::string& name) {
              return name.starts_with("nvidia") ? number(name.substr(6)) : std::nullopt;
            }).size();
  if (count == 0)
    return {};
  gpus.names.clear();
  for (std::size_t i = 0; i < count; ++i)
    gpus.names.push_back(std::to_string(i));
  gpus.more = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  return gpus;
}

/// Returns AMD's devices of this process, which are numbered in the order of the kernel's
/// list of nodes.
Gpus amd(const fs::path& root) {
  Gpus gpus{.variable = "ROCR_VISIBLE_DEVICES", .names = {}};
  for (auto* name : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"})
    if (auto* visible = std::getenv(name)) {
      gpus.variable = name;
      gpus.names = names_in(visible);
      return gpus;
    }
  for (auto& node : entries(root / "sys/class/kfd/kfd/topology/nodes", number)) {
    auto minor = value_of(node / "properties", "drm_render_minor");
    auto cores = value_of(node / "properties", "simd_count"); // Of a CPU: 0.
    if (!cores.empty() && cores != "0" && fs::exists(root / ("dev/dri/renderD" + minor)))
      gpus.names.push_back(std::to_string(gpus.names.size()));
  }
  return gpus;
}

} // namespace

Gpus Gpus::here(const std::string& root) {
  if (auto* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    Gpus gpus{.names = names_in(visible)};
    if (auto* order = std::getenv("CUDA_DEVICE_ORDER"))
      gpus.more["CUDA_DEVICE_ORDER"] = order;
    return gpus;
  }
  const fs::path top = root.empty() ? "/" : root;
  auto gpus = nvidia(top);
  return gpus ? *gpus : amd(top);
}

} // namespace fiber::backends::local
