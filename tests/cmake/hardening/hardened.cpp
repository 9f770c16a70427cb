// SPDX-License-Identifier: Apache-2.0
// Has a buffer to protect, and a call to check.
#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  char buffer[64];
  std::strcpy(buffer, argv[argc - 1]);
  std::puts(buffer);
  return 0;
}
