// SPDX-License-Identifier: Apache-2.0
// Workers behind a broken network that are jobs of a real Slurm.
#include <cstdlib>

#include "tests/clusters/cluster.hpp"
#include "tests/e2e/network/network_fixture.hpp"

namespace fiber::e2e {

Place place_of_workers() {
  Place place;
  place.near_side = Cable::NearSide::here;
  auto cluster = clusters::slurm();
  if (!cluster) {
    place.missing = "no Slurm is up";
    return place;
  }
  ::setenv("SLURM_CONF", cluster->at("SLURM_CONF").c_str(), 1);
  place.config.backend = "slurm";
  place.config.more = {{"slurm_directory", cluster->at("SLURM_SESSIONS")}};
  return place;
}

} // namespace fiber::e2e
