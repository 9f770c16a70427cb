#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/offspring.py leaves nothing of what it runs, however that ends.

usage: offspring_test.py BENCH
"""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv.pop(1))
import offspring  # noqa: E402

LONG = 600  # Seconds; none of the tests waits for it.

# Starts a process in a session of its own that outlives it, deaf to SIGTERM and holding its output.
DETACHES = """
import os, signal, sys, time
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(writing, str(os.getpid()).encode())
        time.sleep(600)
    os._exit(0)
print(os.read(reading, 20).decode(), flush=True)
"""


def python(program):
    return [sys.executable, "-c", program]


class Offspring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        offspring.become_reaper()

    def tearDown(self):
        self.assertEqual(offspring.offspring(), [])

    def test_what_a_program_prints_is_returned(self):
        self.assertEqual(offspring.run(python("print('value')"), LONG), "value\n")

    def test_a_process_that_detached_itself_is_ended(self):
        pid = int(offspring.run(python(DETACHES), LONG, grace=0))
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    def test_a_program_that_hangs_is_ended_with_all_it_started(self):
        with self.assertRaisesRegex(RuntimeError, "not done after 2 s"):
            offspring.run(python(DETACHES + "time.sleep(600)"), 2)

    def test_a_program_that_fails_is_quoted(self):
        with self.assertRaisesRegex(RuntimeError, "ended with 3: no Java"):
            offspring.run(python("import sys; print('no Java', file=sys.stderr); sys.exit(3)"), LONG)

    def test_a_program_runs_in_a_folder_that_goes_with_it(self):
        program = "import os, tempfile; print(os.getcwd(), tempfile.mkstemp()[1])"
        folder, file = offspring.run(python(program), LONG).split()
        self.assertEqual(os.path.dirname(file), folder)
        self.assertFalse(os.path.exists(folder))


if __name__ == "__main__":
    unittest.main()
