// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fiber::observer {

/// The first argument of a program that is to be a relay.
inline constexpr auto relay_option = "--fiber-relay";

/// A relay lets the command `fiber` reach a session in a container, or in a job of Slurm,
/// where its socket is: the engine starts the session's program there once more, as
/// `PROGRAM --fiber-relay REQUEST`. If this process is one, sends REQUEST, a line of
/// JSON, to the session, writes its reply to stdout, and ends the process, with exit
/// code 1 and a line at stderr if no session replies. Otherwise returns.
///
/// Runs before main(), so that the program's own options are not in the way. fiber::init
/// calls it too, which links it into every program.
void relay_if_asked();

} // namespace fiber::observer
