// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <fiber/fiber.hpp>

std::string host(int) {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv);
  fiber::Pool pool(2);
  auto hosts = pool.map(host, std::vector<int>(8));
  auto elsewhere = std::ranges::count_if(hosts, [](auto& h) { return h != host(0); });
  std::cout << "tasks on other hosts: " << elsewhere << " of " << hosts.size() << '\n';
}
