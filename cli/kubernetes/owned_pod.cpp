// SPDX-License-Identifier: Apache-2.0
#include "cli/kubernetes/owned_pod.hpp"

#include <random>

#include "backends/kubernetes/api.hpp"
#include "base/ascii.hpp"
#include "fiber/error.hpp"

namespace fiber::cli::kubernetes {

OwnedPod::OwnedPod(Client& client, const nlohmann::json& body, const std::string& what)
  : client_(client) {
  constexpr int conflict = 409;
  std::string name = body["metadata"]["name"];
  auto reply = client.ask("POST", client.api().path("pods"), body);
  if (reply.status == conflict)
    throw Error("there is a pod " + name + " already; choose another --name");
  if (!reply.ok()) {
    auto words = backends::kubernetes::problem(reply);
    if (words.find("service account") != words.npos)
      words += "; kubectl -n " + client.api().name_space() +
               " apply -f deploy/kubernetes/rbac.yaml makes it";
    throw Error("create " + what + ": " + words);
  }
  name_ = std::move(name);
}

OwnedPod::~OwnedPod() {
  if (!name_.empty())
    remove(1);
}

void OwnedPod::remove(long seconds) {
  client_.ask("DELETE", path() + "?gracePeriodSeconds=" + std::to_string(seconds));
}

std::string free_name(const std::string& words) {
  std::string name;
  for (char c : words)
    if (ascii::is_letter_or_digit(c))
      name += ascii::lower(c);
    else if (!name.empty() && name.back() != '-')
      name += '-';
  std::random_device random;
  name = name.substr(0, 40) + (name.empty() || name.back() != '-' ? "-" : "");
  for (int i = 0; i < 6; ++i)
    name += "0123456789abcdef"[random() % 16];
  return name.front() == '-' ? "fiber" + name : name;
}

} // namespace fiber::cli::kubernetes
