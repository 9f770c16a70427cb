#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs examples/rl/autoscale and draws its tasks and workers over time.

usage: draw_autoscale.py [BUILD [SVG]]    default: build/release docs/images/autoscale.svg
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINE = re.compile(r"^ *([0-9.]+) s +(\d+) tasks +(\d+) workers", re.M)


def main() -> None:
    build = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release")
    path = Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "docs/images/autoscale.svg")
    output = subprocess.run([build / "examples/rl/autoscale"], stdout=subprocess.PIPE, text=True, check=True).stdout
    data = "\n".join(" ".join(row) for row in LINE.findall(output))
    subprocess.run(["gnuplot"], text=True, check=True, input=f"""set terminal svg size 860,460 font 'sans-serif,13' background '#ffffff'
set output '{path}'
$data << EOD
{data}
EOD
set multiplot layout 2,1 title 'A pool of 1 to 16 workers that follows the size of a population' font ',15'
set lmargin 8
set border 3 linecolor '#555555'
set tics nomirror out
set grid ytics linetype 1 linecolor '#e6e6e6'
set style fill solid 0.25 noborder
set xrange [0:*]
set yrange [0:*]
unset key
set ylabel 'tasks'
plot $data using 1:2 with fillsteps linecolor '#e08a3c', $data using 1:2 with steps linewidth 1.6 linecolor '#e08a3c'
set ylabel 'workers'
set xlabel 'seconds'
set ytics 4
plot $data using 1:3 with fillsteps linecolor '#2a6ebb', $data using 1:3 with steps linewidth 2 linecolor '#2a6ebb'
unset multiplot
""")


if __name__ == "__main__":
    main()
