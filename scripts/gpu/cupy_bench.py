#!/usr/bin/env python3
"""Measures CuPy, with cuBLAS, cuSOLVER and CUB, on this GPU: what `tandem bench` measures, under the
same names and in the same format, so that benchstat -col /by compares both files.

    python3 cupy_bench.py --seconds 60 products,arrays >cupy.txt
    python3 cupy_bench.py --numpy --quick                NumPy in CuPy's place, where there is no GPU

A sample is as many calls as take 10 ms, with one wait at its end, as in tandem bench. What a group
has no time for is left out, and said. TF32, and products of narrower types in place of float32 and
float64, are off.
"""
import argparse
import os
import sys
import time

os.environ['CUPY_TF32'] = os.environ['NVIDIA_TF32_OVERRIDE'] = os.environ['CUBLAS_EMULATE_SINGLE_PRECISION'] = '0'

import numpy as np  # noqa: E402

SAMPLES = 5


def products(xp, r, t, quick):
    """Squares, thin ones and a batch."""
    squares, long, count = ([32], 70, 5) if quick else ([64, 256, 1024, 2048, 4096, 8192], 8192, 4096)
    shapes = [(n, n, n) for n in squares]
    shapes += [s for thin in (1, 8) for s in ((thin, long, long), (long, thin, long))]
    for m, k, n in shapes:
        if t == 'int32' and m * k * n > 4096**3:
            continue  # a kernel of CuPy's own, which takes seconds
        a, b, c = r((m, k), t), r((k, n), t), xp.empty((m, n), t)
        yield 'product', (m, k, n), lambda: xp.matmul(a, b, out=c), 2.0 * m * n * k, 'GFLOP/s'
    a, b = r((count, 64, 64), t), r((count, 64, 64), t)
    yield 'batch of %d' % count, (64, 64, 64), lambda: xp.matmul(a, b), 2.0 * count * 64**3, 'GFLOP/s'


def transposes(xp, r, t, quick):
    for n in [100] if quick else [1024, 4096, 16384]:
        x, y = r((n, n), t), xp.empty((n, n), t)
        yield 'transpose', (n, n), lambda: xp.copyto(y, x.T), 2.0 * x.nbytes, 'GB/s'
        yield 'add', (n, n), lambda: xp.add(x, x, out=y), 3.0 * x.nbytes, 'GB/s'


def arrays(xp, r, t, quick):
    """Elementwise functions, sums over all, rows and columns, sorts and random numbers."""
    if t == 'int32':
        return
    for n in [10, 1000] if quick else [10, 100_000, 10_000_000]:
        x, y, z = r((1, n), t), r((1, n), t), xp.empty((1, n), t)
        ops = [('add', 3, lambda: xp.add(x, y, out=z))]
        if n > 10:
            ops += [
                ('maximum', 3, lambda: xp.maximum(x, y, out=z)), ('where', 3, lambda: xp.where(x > y, x, y)),
                ('exp', 2, lambda: xp.exp(x, out=z)), ('tanh', 2, lambda: xp.tanh(x, out=z)),
                ('sin', 2, lambda: xp.sin(x, out=z)), ('log', 2, lambda: xp.log(x, out=z)),
                ('sum', 1, lambda: x.sum()), ('max', 1, lambda: x.max()), ('cumsum', 2, lambda: xp.cumsum(x)),
                ('dot', 2, lambda: float(xp.dot(x[0], y[0])))]
        for name, moved, call in ops:
            yield name, (1, n), call, float(moved) * x.nbytes, 'GB/s'
    for m, n in [(20, 20)] if quick else [(300, 300), (2000, 2000), (300_000, 3), (3, 300_000)]:
        x = r((m, n), t)
        for name, call in [
                ('sum of rows', lambda: x.sum(axis=1)), ('sum of columns', lambda: x.sum(axis=0)),
                ('mean of columns', lambda: x.mean(axis=0)), ('norm of rows', lambda: xp.linalg.norm(x, axis=1)),
                ('norm of columns', lambda: xp.linalg.norm(x, axis=0))]:
            yield name, (m, n), call, float(x.nbytes), 'GB/s'
    million = 200 if quick else 1_000_000
    for rows in (1, million // 100, million // 10):
        x = r((rows, million // rows), t)
        yield 'sort of rows', x.shape, lambda: xp.sort(x), float(million), 'Gelem/s'
    gen = xp.random.default_rng(1)
    yield 'uniform', (1, million), lambda: gen.random((1, million), dtype=t), float(million), 'Gelem/s'
    yield 'normal', (1, million), lambda: gen.standard_normal((1, million), dtype=t), float(million), 'Gelem/s'


def lapack(xp, r, t, quick):
    if t == 'int32':
        return
    lu = xp.linalg.inv  # a stand-in
    if xp is not np:
        from cupyx.scipy.linalg import lu_factor
        lu = lambda a: lu_factor(a, check_finite=False)  # noqa: E731
    for n in [70] if quick else [500, 1000, 2000, 4096, 8192]:
        a = r((n, n), t)
        s, cube = a @ a.T + n * xp.eye(n, dtype=t), float(n)**3
        yield 'LU', (n, n), lambda: lu(a), 2 / 3 * cube, 'GFLOP/s'
        yield 'Cholesky', (n, n), lambda: xp.linalg.cholesky(s), cube / 3, 'GFLOP/s'
        if n <= 4096:
            yield 'QR with Q', (n, n), lambda: xp.linalg.qr(a), 8 / 3 * cube, 'GFLOP/s'
            yield 'EigSym', (n, n), lambda: xp.linalg.eigh(s), 9 * cube, 'GFLOP/s'
        if n <= 2000:
            yield 'SVD', (n, n), lambda: xp.linalg.svd(a), 22 * cube, 'GFLOP/s'


GROUPS = {f.__name__: f for f in (products, transposes, arrays, lapack)}


def samples(call, wait):
    """The calls of a sample, and the seconds of one call in each."""
    def run(runs):
        wait()
        begin = time.perf_counter()
        for _ in range(runs):
            call()
        wait()
        return (time.perf_counter() - begin) / runs
    run(1)  # which compiles
    one = run(1)
    if one > 0.3:
        return 1, [one]
    runs = max(1, int(0.010 / one) + 1)
    return runs, [run(runs) for _ in range(SAMPLES)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('groups', nargs='?', default=','.join(GROUPS), help='of ' + ', '.join(GROUPS))
    p.add_argument('--types', default='float32,float64,int32')
    p.add_argument('--seconds', type=float, default=120, help='after which the rest is left out')
    p.add_argument('--quick', action='store_true', help='tiny sizes')
    p.add_argument('--numpy', action='store_true')
    args = p.parse_args()
    xp, wait, by = np, lambda: None, 'NumPy'
    if not args.numpy:
        import cupy as xp
        wait, by = xp.cuda.Device().synchronize, 'CuPy'
        print('cupy: %s, CUDA %d, driver %d' % (xp.__version__, xp.cuda.runtime.runtimeGetVersion(),
                                               xp.cuda.runtime.driverGetVersion()))

    def uniform(shape, t):
        if t == 'int32':
            return xp.random.randint(-10**9, 10**9, size=shape).astype(t)
        return xp.random.random(shape).astype(t) + xp.ones((), t) / 64  # above 0, for logarithms

    begin, left = time.perf_counter(), 0
    for group in args.groups.split(','):
        for t in args.types.split(','):
            for name, size, call, work, unit in GROUPS[group](xp, uniform, t, args.quick):
                if time.perf_counter() - begin > args.seconds:
                    left += 1
                    continue
                full = 'Benchmark%s/%s/type=%s/size=%s/by=%s' % (
                    group.capitalize(), name.replace(' ', '_'), t, 'x'.join(map(str, size)), by)
                try:
                    runs, seconds = samples(call, wait)
                except Exception as e:  # out of memory, or what CuPy does not have
                    print('# %s: %s: %s' % (full, type(e).__name__, str(e)[:200]), flush=True)
                    continue
                for s in seconds:
                    print('%s %d %.2f ns/op %.5g %s' % (full, runs, s * 1e9, work / s / 1e9, unit), flush=True)
    if left:
        print('# %d rows were left out: %g s were over' % (left, args.seconds))


if __name__ == '__main__':
    sys.exit(main())
