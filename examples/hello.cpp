// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <string>
#include <vector>

#include <fiber/fiber.hpp>

std::string greet(const std::string& name) {
  return "Hello, " + name + "!";
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In a worker, this call never returns.
  fiber::Pool pool(2);                    // Two worker processes.
  const std::vector<std::string> names = {"Ada", "Grace", "Barbara"};
  for (const auto& line : pool.map(greet, names))
    std::cout << line << '\n';
}
