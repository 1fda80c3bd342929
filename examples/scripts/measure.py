"""Prints the median seconds of five runs of scripts: python3 measure.py NAME N ..."""

import importlib
import statistics
import sys
import time

for name, n in zip(sys.argv[1::2], sys.argv[2::2]):
    run, seconds = getattr(importlib.import_module(name), name), []
    for _ in range(5):
        start = time.perf_counter()
        run(int(n))
        seconds.append(time.perf_counter() - start)
    print(name, n, statistics.median(seconds))
