// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fiber {

/// Makes a signal that would end this process do nothing, unless the program handles or
/// ignores the signal. Unlike SIG_IGN, this ends with an exec, so that the programs which
/// this process starts do not inherit it.
void make_harmless(int signal);

} // namespace fiber
