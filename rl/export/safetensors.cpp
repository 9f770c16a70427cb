// SPDX-License-Identifier: Apache-2.0
// The format: the length of a header in JSON, the header, then the tensors' numbers.
#include <utility>

#include <nlohmann/json.hpp>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/detail/number_text.hpp"
#include "fiber/rl/export_policy.hpp"
#include "rl/export/exported_policy.hpp"
#include "rl/storage/little_endian.hpp"

namespace fiber::rl {
namespace {
namespace safetensors {

using nlohmann::ordered_json;

class File {
public:
  void add(const std::string& name, const std::vector<std::size_t>& shape,
           std::span<const float> numbers) {
    add(name, "F32", shape, numbers);
  }
  void add(const std::string& name, const std::vector<std::size_t>& shape,
           std::span<const double> numbers) {
    add(name, "F64", shape, numbers);
  }

  std::string text(std::map<std::string, std::string> metadata) && {
    header_["__metadata__"] = std::move(metadata);
    auto lines = header_.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    lines.resize((lines.size() + 7) / 8 * 8, ' '); // So that the numbers are aligned.
    std::string file;
    storage::put_fixed(file, std::uint64_t{lines.size()});
    return file + lines + numbers_;
  }

private:
  template <class Number>
  void add(const std::string& name, const char* type,
           const std::vector<std::size_t>& shape, std::span<const Number> numbers) {
    const auto begin = numbers_.size();
    storage::put_all(numbers_, numbers);
    header_[name] = {
      {"dtype", type}, {"shape", shape}, {"data_offsets", {begin, numbers_.size()}}};
  }

  ordered_json header_ = ordered_json::object();
  std::string numbers_;
};

/// Under the names of torch.nn.LSTM.
void add_lstm(File& file, const exporting::ExportedPolicy& policy,
              const exporting::ExportedLstm& lstm) {
  const auto& place = lstm.place;
  const auto rows = 4 * place.units;
  file.add(lstm.name + ".weight_ih_l0", {rows, place.inputs},
           policy.numbers(place.offset, place.memory_weights()));
  file.add(lstm.name + ".weight_hh_l0", {rows, place.units},
           policy.numbers(place.memory_weights(), place.input_biases()));
  file.add(lstm.name + ".bias_ih_l0", {rows},
           policy.numbers(place.input_biases(), place.memory_biases()));
  file.add(lstm.name + ".bias_hh_l0", {rows},
           policy.numbers(place.memory_biases(), place.end()));
}

} // namespace safetensors
} // namespace

void save_safetensors(const std::filesystem::path& path, const SavedPolicy& policy) {
  const exporting::ExportedPolicy exported(policy);
  const auto& spec = policy.spec;
  std::map<std::string, std::string> metadata{
    {"environment", policy.environment},
    {"network", spec.describe()},
    {"activation", exported.tanh() ? "tanh" : "relu"},
    {"observation_scale", detail::shown(spec.observation_scale)}};
  if (!exported.spaces.action_counts.empty()) {
    std::string counts;
    for (const int count : exported.spaces.action_counts)
      counts += (counts.empty() ? "" : " ") + std::to_string(count);
    metadata.emplace("action_counts", counts);
  }
  if (exported.spaces.masked)
    metadata.emplace("masked", "true");
  safetensors::File file;
  if (!policy.observations.identity()) { // First: eight bytes a number, aligned.
    const auto size = exported.spaces.observation_size();
    file.add("normaliser.mean", {size}, policy.observations.mean());
    file.add("normaliser.scale", {size}, policy.observations.scale());
    metadata.emplace("normaliser.clip", detail::shown(policy.observations.clip()));
  }
  if (exported.log_std_size > 0)
    file.add("log_std", {exported.log_std_size}, exported.log_std());
  for (const auto* layers : {&exported.acting, &exported.value})
    for (const auto& layer : *layers) {
      const auto& lstm =
        layers == &exported.acting ? exported.acting_lstm : exported.value_lstm;
      if (lstm && &layer == &layers->back())
        safetensors::add_lstm(file, exported, *lstm);
      file.add(layer.name + ".weight", layer.shape(), exported.weights(layer));
      file.add(layer.name + ".bias", {layer.place.outputs}, exported.biases(layer));
    }
  write_atomically(path, std::move(file).text(std::move(metadata)));
}

} // namespace fiber::rl
