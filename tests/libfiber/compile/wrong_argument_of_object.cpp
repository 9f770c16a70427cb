// SPDX-License-Identifier: Apache-2.0
#include <fiber/fiber.hpp>

struct Robot {
  void turn(int) {}
};
void use(fiber::Ref<Robot> robot) {
  robot.call<&Robot::turn>("left");
}
