// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "fiber/rl/evolution_evaluation.hpp"
#include "fiber/rl/genetic.hpp"
#include "fiber/rl/random.hpp"
#include "rl/ga/keys.hpp"

namespace fiber::rl {
namespace {
namespace ga_genome {

bool begins_with(const Genome& genome, const Genome& ancestor) {
  return ancestor.size() <= genome.size() &&
         std::equal(ancestor.begin(), ancestor.end(), genome.begin());
}

} // namespace ga_genome
} // namespace

GenomeDecoder::GenomeDecoder(const PolicySpec& spec, float sigma)
  : spec_(spec), sigma_(sigma) {}

GenomeDecoder::Built::const_iterator
GenomeDecoder::nearest_ancestor(const Genome& genome) const {
  auto nearest = built_.end();
  for (auto each = built_.begin(); each != built_.end(); ++each)
    if (ga_genome::begins_with(genome, each->first) &&
        (nearest == built_.end() || each->first.size() > nearest->first.size()))
      nearest = each;
  return nearest;
}

void GenomeDecoder::mutate(std::vector<float>& parameters, std::uint64_t seed) {
  Random random(seed, {ga::mutation});
  for (auto& each : parameters)
    each += sigma_ * static_cast<float>(random.normal());
  ++mutations_;
}

const std::vector<float>& GenomeDecoder::decode(const Genome& genome) {
  if (genome.empty())
    throw std::invalid_argument("an empty genome has no parameters");
  const auto nearest = nearest_ancestor(genome);
  if (nearest != built_.end() && nearest->first == genome)
    return nearest->second;
  const bool anew = nearest == built_.end();
  auto parameters = anew ? initial_evolved_parameters(spec_, genome[0]) : nearest->second;
  for (auto i = anew ? std::size_t{1} : nearest->first.size(); i < genome.size(); ++i)
    mutate(parameters, genome[i]);
  return built_.emplace(genome, std::move(parameters)).first->second;
}

std::vector<float> GenomeDecoder::decode_child(const Genome& parent, std::uint64_t seed) {
  auto parameters = decode(parent);
  mutate(parameters, seed);
  return parameters;
}

void GenomeDecoder::forget_all_but(const std::vector<Genome>& genomes) {
  std::set<Genome> useful;
  for (const auto& genome : genomes)
    if (const auto nearest = nearest_ancestor(genome); nearest != built_.end())
      useful.insert(nearest->first);
  std::erase_if(built_, [&](const auto& each) { return !useful.contains(each.first); });
}

GeneticWorker::GeneticWorker(std::unique_ptr<AnyEnvironment> environment)
  : environment_(std::move(environment)) {}

GenomeDecoder& GeneticWorker::ready(const Brood& brood) {
  if (environment_->spaces() != brood.policy.spaces)
    throw std::invalid_argument("the policy was made for an environment of other spaces");
  if (!decoder_ || !decoder_->fits(brood.policy, brood.sigma))
    decoder_.emplace(brood.policy, brood.sigma);
  return *decoder_;
}

double GeneticWorker::evaluate(const Brood& brood, Offspring offspring) {
  auto& decoder = ready(brood);
  if (generation_ != brood.generation)
    decoder.forget_all_but(brood.genomes);
  generation_ = brood.generation;
  const auto parameters =
    brood.generation == 0
      ? initial_evolved_parameters(brood.policy, offspring.seed)
      : decoder.decode_child(brood.genomes.at(offspring.parent), offspring.seed);
  EvolvedPolicy policy(brood.policy, parameters, {});
  double total = 0;
  for (std::uint64_t episode = 0; episode < brood.episodes; ++episode) {
    Random seeds(brood.seed, {ga::training_episode, brood.generation, episode});
    total += rollout(*environment_, policy, seeds.next());
  }
  return total / static_cast<double>(brood.episodes);
}

double GeneticWorker::evaluate(const Brood& brood, Trial trial) {
  EvolvedPolicy policy(brood.policy, ready(brood).decode(brood.genomes.at(trial.genome)),
                       {});
  Random seeds(brood.seed, {ga::trial + static_cast<std::uint64_t>(trial.purpose),
                            brood.generation, trial.episode});
  return rollout(*environment_, policy, seeds.next());
}

} // namespace fiber::rl
