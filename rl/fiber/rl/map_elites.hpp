// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/serialization/map.hpp>
#include <boost/serialization/vector.hpp>

#include "fiber/rl/cma_es.hpp"

// Quality diversity: not the one best solution, but the best one of each kind.

namespace fiber::rl {

/// What a solution does: how well, and in which way.
struct Behaviour {
  double objective = 0;         ///< The more, the better.
  std::vector<double> measures; ///< They decide which cell of an archive it belongs to.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& objective& measures;
  }
};

/// The best solution of a cell.
struct Elite {
  std::vector<double> parameters;
  Behaviour behaviour;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& parameters& behaviour;
  }
};

/// A measure's part in the grid of an archive.
struct GridAxis {
  std::size_t cells = 50;
  double low = 0, high = 1; ///< What is beyond them counts to the outermost cells.
};

/// A grid in the space of measures, with the best solution of each cell (Mouret and Clune
/// 2015).
class GridArchive {
public:
  /// Throws std::invalid_argument for no axes, an axis without cells, or bounds that are
  /// not finite or not in order.
  explicit GridArchive(std::vector<GridAxis> axes);

  enum class Change : std::uint8_t { none, improved, added };
  /// What a solution did to the archive.
  struct Addition {
    Change change = Change::none;
    /// How much better than the cell's old elite; of a cell that was empty, the
    /// objective.
    double gain = 0;
  };
  /// Puts a solution into its cell if the cell is empty or has a worse one. Throws
  /// std::invalid_argument for another number of measures than axes, and for numbers that
  /// are not finite.
  Addition add(const std::vector<double>& parameters, const Behaviour& behaviour);

  const std::vector<GridAxis>& axes() const { return axes_; }
  std::size_t cells() const; ///< Of the whole grid.
  /// By their cells: the last axis changes fastest.
  const std::map<std::size_t, Elite>& elites() const { return elites_; }
  double coverage() const; ///< The share of the cells that have an elite.
  /// The sum of (objective - offset) over the elites. The offset is the least objective
  /// that there may be, so that each further elite counts.
  double qd_score(double offset) const;
  /// Throws std::out_of_range if there is none.
  const Elite& best() const;

  /// Replaces the elites by those of a saved state.
  void restore(std::map<std::size_t, Elite> elites);

private:
  std::size_t cell_of(const Behaviour& behaviour) const;

  std::vector<GridAxis> axes_;
  std::map<std::size_t, Elite> elites_;
};

struct MapElitesOptions {
  std::vector<GridAxis> axes; ///< One for each measure.
  /// How new solutions come from elites.
  enum class Emitter : std::uint8_t {
    gaussian,   ///< MAP-Elites: normal noise is added to elites that are drawn.
    improvement ///< CMA-ME (Fontaine et al. 2020): CMA-ES ranks what it finds by cells
                ///< that it fills, then by the gain in cells that were full.
  } emitter = Emitter::improvement;
  std::size_t emitters = 5;
  std::size_t batch = 30; ///< Solutions of each emitter in an iteration; at least 4.
  double sigma = 1;       ///< Of the noise; the first step size of CMA-ES.
};

/// Everything that changes while a MapElites runs.
struct MapElitesState {
  std::uint64_t iteration = 0;
  std::map<std::size_t, Elite> elites;
  std::vector<CmaState> searches;      ///< Of the improvement emitters.
  std::vector<std::uint64_t> restarts; ///< How often each has begun anew.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& iteration& elites& searches& restarts;
  }
};

/// MAP-Elites and CMA-ME: fills an archive with solutions that are good and different.
///
///   MapElites search(start, options, seed);
///   for (int i = 0; i < 300; ++i)
///     search.tell(pool.map(behaviour_of, search.ask()));
///
/// ask() depends only on the seed and the state, tell() only on the state and the
/// results, which enter the archive in the order of ask(). So a run does not depend on
/// which worker evaluated what, or when.
///
/// An improvement emitter that changed nothing begins anew, at an elite that is drawn.
///
/// Thread safety: none; one thread at a time.
class MapElites {
public:
  /// Throws std::invalid_argument for options that are out of their ranges, and as
  /// GridArchive and CmaEs do.
  MapElites(std::vector<double> start, MapElitesOptions options, std::uint64_t seed = 1);
  /// Continues from a saved state of the same start, options and seed.
  MapElites(std::vector<double> start, MapElitesOptions options, std::uint64_t seed,
            MapElitesState state);

  /// emitters * batch solutions. The same until tell() is called.
  std::vector<std::vector<double>> ask() const;
  /// Takes what ask()'s solutions do, in the same order. Throws std::invalid_argument for
  /// another number of results and as GridArchive::add() does; then nothing has changed.
  void tell(std::span<const Behaviour> results);

  const GridArchive& archive() const { return archive_; }
  std::uint64_t iteration() const { return iteration_; }
  MapElitesState state() const;

private:
  CmaEs search_at(std::size_t emitter, std::vector<double> mean) const;
  std::uint64_t search_seed(std::size_t emitter) const;
  const std::vector<double>& drawn_elite(std::uint64_t purpose,
                                         std::uint64_t index) const;
  std::vector<std::vector<double>> mutants() const;

  std::vector<double> start_;
  MapElitesOptions options_;
  std::uint64_t seed_;
  std::uint64_t iteration_ = 0;
  GridArchive archive_;
  std::vector<CmaEs> searches_;
  std::vector<std::uint64_t> restarts_;
};

struct ArchiveStyle {
  std::string title = {}, x_label = {}, y_label = {};
  std::string objective_label = "objective";
};

/// Draws an archive of two axes into a PNG file, with gnuplot: each cell in the colour of
/// its elite's objective, empty cells white. Returns false and throws as plot_csv() does,
/// and throws std::invalid_argument for another number of axes.
bool draw_archive(const std::filesystem::path& png, const GridArchive& archive,
                  const ArchiveStyle& style);

} // namespace fiber::rl
