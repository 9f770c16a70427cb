// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fiber {

/// Gives threads that start from now on a stack of 8 MiB, as the main thread has by
/// default, where RLIMIT_STACK has no limit. There glibc would give them 2 MiB. A larger
/// default that the program has set stays.
void enlarge_thread_stacks();

} // namespace fiber
