// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/serialization/vector.hpp>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/evolution_evaluation.hpp"
#include "fiber/rl/evolution_training.hpp"
#include "fiber/rl/policy.hpp"

// The genetic algorithm of Such et al. 2017 (arXiv 1712.06567).

namespace fiber::rl {

/// A network as the list of seeds that it grew from: the first makes initial parameters,
/// each further one adds a mutation, which is normal noise. It takes eight bytes for each
/// generation, whatever the size of the network.
using Genome = std::vector<std::uint64_t>;

/// Rebuilds the parameters of genomes. It keeps those it has built: the child of a genome
/// that is kept costs one mutation, however long the genome is.
///
/// Thread safety: none; each worker has its own.
class GenomeDecoder {
public:
  /// `spec` as of evolved_policy(). `sigma` is the standard deviation of a mutation.
  GenomeDecoder(const PolicySpec& spec, float sigma);

  /// The evolved_parameter_count() parameters of a genome, which are kept. Valid until
  /// the next call of forget_all_but(). Throws std::invalid_argument for an empty genome.
  const std::vector<float>& decode(const Genome& genome);
  /// The parameters of the child of `parent` by the mutation `seed`, which are not kept.
  std::vector<float> decode_child(const Genome& parent, std::uint64_t seed);

  /// Drops what is of no use for these genomes. For each, its nearest ancestor that was
  /// built remains, or itself. So no more networks are kept than there are genomes here.
  void forget_all_but(const std::vector<Genome>& genomes);

  bool fits(const PolicySpec& spec, float sigma) const {
    return spec == spec_ && sigma == sigma_;
  }
  std::size_t kept() const { return built_.size(); }
  std::uint64_t mutations() const { return mutations_; } ///< Made so far.

private:
  using Built = std::map<Genome, std::vector<float>>;
  /// The longest genome that was built and is the beginning of `genome`, or end().
  Built::const_iterator nearest_ancestor(const Genome& genome) const;
  void mutate(std::vector<float>& parameters, std::uint64_t seed);

  PolicySpec spec_;
  float sigma_;
  Built built_;
  std::uint64_t mutations_ = 0;
};

/// What the tasks of one generation have in common. It is sent once to each job.
struct Brood {
  PolicySpec policy;
  float sigma = 0;
  std::uint64_t seed = 0;
  std::uint64_t generation = 0;
  std::uint64_t episodes = 1;  ///< That each child plays.
  std::vector<Genome> genomes; ///< The parents, or the networks that are judged.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& policy& sigma& seed& generation& episodes& genomes;
  }
};

/// A child as a task: sixteen bytes.
struct Offspring {
  std::uint64_t parent = 0; ///< The number of a genome of the Brood.
  std::uint64_t seed = 0;   ///< Of its mutation; in generation 0, of its parameters.
};

/// One episode of a network, as a task. No two purposes share an episode.
struct Trial {
  enum class Purpose : std::uint64_t { elite, evaluation, confirmation };
  std::uint64_t genome = 0; ///< The number of a genome of the Brood.
  Purpose purpose = Purpose::elite;
  std::uint64_t episode = 0;
};

/// Plays for a worker. Its environment and the networks that it has built live from task
/// to task.
///
/// Thread safety: none; each worker has its own.
class GeneticWorker {
public:
  explicit GeneticWorker(std::unique_ptr<AnyEnvironment> environment);

  /// The mean return of a child of the brood's parents. All children of a generation play
  /// the same episodes. Throws std::invalid_argument if the environment has other spaces
  /// than the policy, and std::out_of_range if the brood has no such genome.
  double evaluate(const Brood& brood, Offspring offspring);
  /// The return of an episode of one of the brood's genomes. Throws likewise.
  double evaluate(const Brood& brood, Trial trial);

  /// Nothing before the first task.
  const std::optional<GenomeDecoder>& decoder() const { return decoder_; }

private:
  /// The decoder for this brood.
  GenomeDecoder& ready(const Brood& brood);

  std::unique_ptr<AnyEnvironment> environment_;
  std::optional<GenomeDecoder> decoder_;
  std::optional<std::uint64_t> generation_; ///< Whose parents are kept.
};

struct GeneticOptions {
  std::string environment; ///< Recorded in settings(); the evaluator has the environment.
  std::uint64_t seed = 1;
  std::size_t generations = 200;     ///< At most.
  std::size_t population = 200;      ///< Children in a generation.
  std::size_t parents = 20;          ///< Survive a generation: truncation selection.
  float sigma = 0.1f;                ///< The standard deviation of a mutation.
  std::size_t episodes = 1;          ///< Each child is judged by.
  std::size_t elite_candidates = 10; ///< The elite and the best children, at least 2.
  std::size_t elite_episodes = 30;   ///< Each candidate for the elite is judged by.
  std::size_t evaluations = 100;     ///< Fresh episodes that judge the elite.
  std::vector<std::size_t> hidden = {16}; ///< Units of the network's hidden layers.
  std::optional<double> solved_at = {};   ///< The mean return that ends the search.

  /// Every option that must not change when a run is resumed, for FileLabel::settings;
  /// `generations` may.
  std::map<std::string, std::string> settings() const;
  /// Throws std::invalid_argument, which says what would be right.
  void check() const;
};

/// Settings for an environment of this library. docs/rl/populations.md says which have
/// been tried. Other names get general settings.
GeneticOptions genetic_options(const std::string& environment);

/// The functions that play the episodes: on a pool, or in a plain loop. Results are in
/// the order of the tasks.
struct GeneticEvaluator {
  std::function<std::vector<double>(const Brood&, const std::vector<Offspring>&)>
    offspring;
  std::function<std::vector<double>(const Brood&, const std::vector<Trial>&)> trials;
};

/// Evaluates one task after another, in the calling thread. `worker` must outlive the
/// result.
GeneticEvaluator serial_evaluator(GeneticWorker& worker);

/// The checkpoint of a run.
struct GeneticState {
  std::uint64_t generation = 0;
  std::vector<Genome> parents; ///< The elite first; empty before the first generation.
  std::vector<CurvePoint> curve;
  bool solved = false;
  double confirmed_mean = 0; ///< If solved: mean return in the confirming episodes.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& generation& parents& curve& solved& confirmed_mean;
  }
};

/// Evolves networks, one generation for each call of step(). The result depends on the
/// options alone.
class GeneticSearch {
public:
  /// `spaces` are those of the environment. Throws as GeneticOptions::check() does.
  GeneticSearch(GeneticOptions options, const Spaces& spaces);
  /// Continues from a saved state of the same options.
  GeneticSearch(GeneticOptions options, const Spaces& spaces, GeneticState state);

  /// True when solved, or when the generations are used up.
  bool finished() const;

  /// Runs a generation. Each child is a parent, drawn uniformly, with a mutation. The
  /// best children and the elite play `elite_episodes` more; who has the highest mean is
  /// the elite from now on. The elite and the best children are the next parents. Then
  /// the elite is judged in fresh episodes; if it reaches `solved_at`, it must do so
  /// again in as many others. Throws what the evaluator throws; then nothing has changed.
  CurvePoint& step(const GeneticEvaluator& evaluator);

  /// The best network. Throws std::logic_error before the first generation.
  const Genome& elite() const;
  /// Its parameters, as of EvolvedPolicy.
  std::vector<float> elite_parameters() const;

  const GeneticOptions& options() const { return options_; }
  const PolicySpec& policy() const { return policy_; }
  const GeneticState& state() const { return state_; }

private:
  std::vector<Offspring> offspring() const;
  Brood brood(std::vector<Genome> genomes) const;
  /// The mean return of each of these genomes.
  std::vector<double> judge(const GeneticEvaluator& evaluator,
                            std::vector<Genome> genomes, Trial::Purpose purpose,
                            std::size_t episodes) const;

  GeneticOptions options_;
  PolicySpec policy_;
  GeneticState state_;
};

} // namespace fiber::rl
