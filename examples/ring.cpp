// SPDX-License-Identifier: Apache-2.0
// Four members add up their numbers; each has the sum.
#include <fiber/fiber.hpp>
#include <iostream>
#include <vector>

double work(fiber::RingMember& member) {
  std::vector<double> numbers{static_cast<double>(member.rank()), 1.0};
  member.allreduce(numbers); // In place: the sum of all members' numbers.
  return numbers[0] / numbers[1];
}

int main(int argc, char** argv) {
  return fiber::main_guard([&] {
    auto session = fiber::init(argc, argv); // In a job, this call never returns.
    fiber::Ring ring(4, work);
    for (auto mean : ring.run())
      std::cout << "the mean rank is " << mean << '\n';
  });
}
