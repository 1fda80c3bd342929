#!/usr/bin/env python3
"""Compares contenders in files of `tandem bench -o` and cupy_bench.py: for each problem the medians of
both, and how many times as long the first takes, the worst first.

    python3 compare.py fast CuPy bench.txt cupy.txt
"""
import re
import statistics
import sys

first, second, files = sys.argv[1], sys.argv[2], sys.argv[3:]
times = {}
for file in files:
    with open(file) as lines:
        for line in lines:
            m = re.match(r'Benchmark(\S+)/by=(\S+) \d+ ([\d.]+) ns/op', line)
            if m:
                times.setdefault(m[1], {}).setdefault(m[2], []).append(float(m[3]))
rows = []
for problem, by in times.items():
    if first in by and second in by:
        a, b = statistics.median(by[first]), statistics.median(by[second])
        rows.append((a / b, problem, a, b))
print('%-62s %12s %12s %6s' % ('us', first, second, 'times'))
for ratio, problem, a, b in sorted(rows, reverse=True):
    print('%-62s %12.1f %12.1f %6.2f' % (problem, a / 1e3, b / 1e3, ratio))
