// SPDX-License-Identifier: Apache-2.0
#include "tests/clusters/slurm_accounting.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/clusters/cluster.hpp"

namespace fiber::clusters {

SlurmAccounting::SlurmAccounting() : scripts_(slurm()->at("SLURM_SCRIPTS")) {
  auto* state = std::getenv("SLURM_STATE"); // tests/clusters/slurm/down ends this, too.
  set("SLURM_STATE",
      std::string(state != nullptr ? state : "/var/tmp/fiber-slurm") + "-accounting");
  set("SLURM_PORT", "17817");
  set("SLURM_ACCOUNTING", "yes");
  is_up_ = run("up") == 0;
  if (is_up_)
    set("SLURM_CONF", slurm()->at("SLURM_CONF"));
}

SlurmAccounting::~SlurmAccounting() {
  run("down");
  for (auto& [name, value] : before_)
    if (value)
      ::setenv(name.c_str(), value->c_str(), 1);
    else
      ::unsetenv(name.c_str());
}

void SlurmAccounting::limit(const std::string& what) {
  auto said = ask_slurm("sacctmgr --immediate modify user root set " + what);
  EXPECT_NE(said.find("Modified"), said.npos) << said;
}

void SlurmAccounting::set(const std::string& name, const std::string& value) {
  const char* now = std::getenv(name.c_str());
  before_.try_emplace(name, now ? std::optional<std::string>(now) : std::nullopt);
  ::setenv(name.c_str(), value.c_str(), 1);
}

int SlurmAccounting::run(const std::string& script) const {
  return std::system((scripts_ + "/" + script + " >&2").c_str());
}

} // namespace fiber::clusters
