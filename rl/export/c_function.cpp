// SPDX-License-Identifier: Apache-2.0
#include "rl/export/c_function.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

namespace fiber::rl::exporting {
namespace {

/// As few digits as tell the float from others, the same in each locale.
std::string literal(float number) {
  if (std::isinf(number))
    return number < 0 ? "-INFINITY" : "INFINITY"; // A bound.
  std::array<char, 32> buffer;
  const auto end =
    std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == text.npos)
    text += ".0"; // "1f" is no number.
  return text + 'f';
}

using Words = std::map<std::string, std::string, std::less<>>;

/// The text, with a word in place of each $name.
std::string filled(std::string_view text, const Words& words) {
  std::string result;
  for (auto at = text.find('$'); at != text.npos; at = text.find('$')) {
    const auto end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 1);
    result += text.substr(0, at);
    result += words.find(text.substr(at + 1, end - at - 1))->second;
    text.remove_prefix(std::min(end, text.size()));
  }
  return result.append(text);
}

std::string count(std::size_t number) {
  return std::to_string(number);
}

/// Writes the function step by step. Each step reads what the one before wrote.
class Writer {
public:
  Writer(const std::string& prefix, const ExportedPolicy& policy)
    : prefix_(prefix), policy_(policy) {}

  CFunction written() &&;

private:
  std::string constant(const std::string& name, std::span<const float> numbers);
  std::string next_buffer(std::size_t size);
  Words words_of(const Layer& layer, std::size_t outputs);
  void normalise();
  void dense(const Layer& layer);
  void convolve(const Layer& layer);
  void choose();
  void remember(const ExportedLstm& lstm);
  void decide();

  const std::string& prefix_;
  const ExportedPolicy& policy_;
  std::string constants_, body_;
  std::string x_ = "observation"; ///< The name of what the last step wrote.
  std::array<std::size_t, 2> buffers_ = {};
  std::size_t turn_ = 1;
  std::size_t constant_count_ = 0;
  std::size_t gates_ = 0; ///< Of an LSTM.
};

/// Returns the name in C.
std::string Writer::constant(const std::string& name, std::span<const float> numbers) {
  auto whole = prefix_ + '_' + name;
  std::ranges::replace(whole, '.', '_');
  constants_ += "static const float " + whole + '[' + count(numbers.size()) + "] = {";
  for (std::size_t i = 0; i < numbers.size(); ++i)
    constants_ += (i % 6 == 0 ? "\n  " : " ") + literal(numbers[i]) + ',';
  constants_.back() = '\n';
  constants_ += "};\n";
  constant_count_ += numbers.size();
  return whole;
}

std::string Writer::next_buffer(std::size_t size) {
  turn_ = 1 - turn_;
  buffers_[turn_] = std::max(buffers_[turn_], size);
  return turn_ == 0 ? "first" : "second";
}

void Writer::normalise() {
  const auto scale = policy_.saved.spec.observation_scale;
  const auto& normalisation = policy_.normalisation;
  if (!normalisation && scale == 1)
    return;
  const auto size = policy_.spaces.observation_size();
  const auto out = next_buffer(size);
  body_ += filled("  for (size_t i = 0; i < $size; ++i) {\n    float x = $in[i];\n",
                  {{"size", count(size)}, {"in", x_}});
  if (normalisation) {
    body_ += filled("    x = ((x - $mean[i]) - $rest[i]) * $scale[i];\n",
                    {{"mean", constant("mean", normalisation->mean)},
                     {"rest", constant("rest_of_mean", normalisation->rest)},
                     {"scale", constant("scale", normalisation->scale)}});
    if (normalisation->clip)
      body_ += filled("    x = x < -$clip ? -$clip : x > $clip ? $clip : x;\n",
                      {{"clip", literal(*normalisation->clip)}});
  }
  if (scale != 1)
    body_ += "    x *= " + literal(scale) + ";\n";
  body_ += "    " + out + "[i] = x;\n  }\n";
  x_ = out;
}

/// Begins a layer of so many outputs: its constants, its input and its output.
Words Writer::words_of(const Layer& layer, std::size_t outputs) {
  std::string activated = "sum";
  if (layer.activated) // A relu that keeps a NaN.
    activated = policy_.tanh() ? "tanhf(sum)" : "sum < 0.0f ? 0.0f : sum";
  Words words{{"weight", constant(layer.name + ".weight", policy_.weights(layer))},
              {"bias", constant(layer.name + ".bias", policy_.biases(layer))},
              {"activated", std::move(activated)},
              {"in", x_}};
  x_ = next_buffer(outputs);
  words.emplace("out", x_);
  return words;
}

void Writer::dense(const Layer& layer) {
  auto words = words_of(layer, layer.place.outputs);
  words.emplace("outputs", count(layer.place.outputs));
  words.emplace("inputs", count(layer.place.inputs));
  body_ += filled(R"(  for (size_t o = 0; o < $outputs; ++o) {
    float sum = $bias[o];
    for (size_t i = 0; i < $inputs; ++i)
      sum += $weight[o * $inputs + i] * $in[i];
    $out[o] = $activated;
  }
)",
                  words);
}

void Writer::convolve(const Layer& layer) {
  const auto& place = *layer.convolution;
  auto words = words_of(layer, place.outputs());
  for (const auto& [name, number] : {std::pair{"outputs", place.layer.outputs},
                                     {"rows", place.out_height()},
                                     {"columns", place.out_width()},
                                     {"channels", place.channels},
                                     {"kernel", place.kernel},
                                     {"height", place.height},
                                     {"width", place.width},
                                     {"stride", place.stride}})
    words.emplace(name, count(number));
  body_ += filled(R"(  for (size_t o = 0; o < $outputs; ++o)
    for (size_t y = 0; y < $rows; ++y)
      for (size_t x = 0; x < $columns; ++x) {
        float sum = $bias[o];
        for (size_t c = 0; c < $channels; ++c)
          for (size_t v = 0; v < $kernel; ++v)
            for (size_t u = 0; u < $kernel; ++u)
              sum += $weight[((o * $channels + c) * $kernel + v) * $kernel + u]
                * $in[(c * $height + y * $stride + v) * $width + x * $stride + u];
        $out[(o * $rows + y) * $columns + x] = $activated;
      }
)",
                  words);
}

/// Writes the largest logit's number, of those that are possible, for each component.
void Writer::choose() {
  const auto choices = policy_.spaces.choices();
  const auto masked = policy_.spaces.masked;
  std::size_t begin = 0;
  for (std::size_t component = 0; component < choices.size(); ++component) {
    const auto end = begin + static_cast<std::size_t>(choices[component]);
    const auto best = choices.size() == 1 ? "best" : "best_" + count(component);
    Words words{{"in", x_},
                {"begin", count(begin)},
                {"second", count(begin + 1)},
                {"end", count(end)},
                {"component", count(component)},
                {"best", best},
                {"index", begin == 0 ? best : '(' + best + " - " + count(begin) + ')'}};
    body_ += filled(masked ? R"(  size_t $best = $begin;
  for (size_t i = $second; i < $end; ++i)
    if (mask[i] && (!mask[$best] || $in[i] > $in[$best]))
      $best = i;
  action[$component] = (float)$index;
)"
                           : R"(  size_t $best = $begin;
  for (size_t i = $second; i < $end; ++i)
    if ($in[i] > $in[$best])
      $best = i;
  action[$component] = (float)$index;
)",
                    words);
    begin = end;
  }
}

/// One step of an LSTM. The memory has its output first, then its cell.
void Writer::remember(const ExportedLstm& lstm) {
  const auto& place = lstm.place;
  gates_ = 4 * place.units;
  const auto numbers = [&](const char* name, std::size_t begin, std::size_t end) {
    return constant(lstm.name + name, policy_.numbers(begin, end));
  };
  const Words words{
    {"gates", count(gates_)},
    {"inputs", count(place.inputs)},
    {"units", count(place.units)},
    {"in", x_},
    {"weight", numbers(".weight", place.offset, place.memory_weights())},
    {"memory_weight",
     numbers(".memory_weight", place.memory_weights(), place.input_biases())},
    {"bias", numbers(".bias", place.input_biases(), place.memory_biases())},
    {"memory_bias", numbers(".memory_bias", place.memory_biases(), place.end())}};
  body_ += filled(R"(  for (size_t o = 0; o < $gates; ++o) {
    float sum = $bias[o] + $memory_bias[o];
    for (size_t i = 0; i < $inputs; ++i)
      sum += $weight[o * $inputs + i] * $in[i];
    for (size_t i = 0; i < $units; ++i)
      sum += $memory_weight[o * $units + i] * memory[i];
    gates[o] = sum;
  }
  for (size_t i = 0; i < $units; ++i) {
    const float in = 1.0f / (1.0f + expf(-gates[i]));
    const float keep = 1.0f / (1.0f + expf(-gates[$units + i]));
    const float out = 1.0f / (1.0f + expf(-gates[3 * $units + i]));
    memory[$units + i] = keep * memory[$units + i] + in * tanhf(gates[2 * $units + i]);
    memory[i] = out * tanhf(memory[$units + i]);
  }
)",
                  words);
  x_ = "memory";
}

/// Writes the action from the network's outputs.
void Writer::decide() {
  const auto& spaces = policy_.spaces;
  Words words{{"outputs", count(policy_.saved.spec.outputs())}, {"in", x_}};
  if (spaces.discrete()) {
    choose();
    return;
  }
  words.emplace("low", constant("action_low", spaces.action_low));
  words.emplace("high", constant("action_high", spaces.action_high));
  body_ += filled(R"(  for (size_t i = 0; i < $outputs; ++i) {
    const float x = $in[i];
    action[i] = x < $low[i] ? $low[i] : x > $high[i] ? $high[i] : x;
  }
)",
                  words);
}

CFunction Writer::written() && {
  normalise();
  for (const auto& layer : policy_.acting) {
    if (policy_.acting_lstm && &layer == &policy_.acting.back())
      remember(*policy_.acting_lstm);
    layer.convolution ? convolve(layer) : dense(layer);
  }
  decide();
  auto text = std::move(constants_) + "\nstatic inline void " + prefix_ +
              "_act(const float* observation, " +
              (policy_.spaces.masked ? "const unsigned char* mask, " : "") +
              (gates_ > 0 ? "float* memory, " : "") + "float* action) {\n";
  constexpr const char* names[] = {"first", "second"};
  for (std::size_t i = 0; i < 2; ++i)
    if (buffers_[i] > 0)
      text += "  float " + std::string(names[i]) + '[' + count(buffers_[i]) + "];\n";
  if (gates_ > 0)
    text += "  float gates[" + count(gates_) + "];\n";
  text += body_ + "}\n";
  return {.text = std::move(text),
          .constants = constant_count_,
          .buffers = buffers_[0] + buffers_[1] + gates_};
}

} // namespace

CFunction c_function(const std::string& prefix, const ExportedPolicy& policy) {
  return Writer(prefix, policy).written();
}

} // namespace fiber::rl::exporting
