// SPDX-License-Identifier: Apache-2.0

// What Python never frees, since its interpreter is not ended, is no leak for
// LeakSanitizer, which calls this.
extern "C" const char*
__lsan_default_suppressions();              // NOLINT(bugprone-reserved-identifier)
const char* __lsan_default_suppressions() { // NOLINT(bugprone-reserved-identifier)
  return "leak:libpython3\n";
}
