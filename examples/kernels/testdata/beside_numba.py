# Some of the kernels of beside.c for Numba's CPU backend, by the same protocol: "NAME RUNS" is
# answered by the median time of a run and the sum of what the first one has made, "0 0" where the
# kernel is not here.
import math, statistics, sys, time
import numpy as np
from numba import get_num_threads, njit, prange

f32 = np.float32
many = np.arange(1 << 22, dtype=np.uint32)


def number(k):
    n = k * np.uint32(2654435761)
    return n ^ n >> np.uint32(16)


def unit(k):
    return ((number(k) & np.uint32(0xFFFF)) / f32(65536)).astype(np.float32)


@njit(parallel=True)
def double(x):
    for i in prange(len(x)):
        x[i] *= f32(2)


@njit(parallel=True)
def total(x):
    s = f32(0)
    for i in prange(len(x)):
        s += x[i]
    return s


@njit(parallel=True)
def nbody(next, now, velocity, dt):
    for i in prange(len(now)):
        mx, my, mz = now[i, 0], now[i, 1], now[i, 2]
        px = py = pz = f32(0)
        for j in range(len(now)):
            x, y, z = now[j, 0] - mx, now[j, 1] - my, now[j, 2] - mz
            r2 = x * x + y * y + z * z + f32(0.01)
            s = now[j, 3] / (r2 * math.sqrt(r2))
            px += s * x
            py += s * y
            pz += s * z
        velocity[i, 0] += dt * px
        velocity[i, 1] += dt * py
        velocity[i, 2] += dt * pz
        for c in range(3):
            next[i, c] = now[i, c] + dt * velocity[i, c]
        next[i, 3] = now[i, 3]


@njit
def normal(x):
    a = abs(x)
    t = f32(1) / (f32(0.2316419) * a + f32(1))
    p = t * f32(1.330274429) - f32(1.821255978)
    p = t * p + f32(1.781477937)
    p = t * p - f32(0.356563782)
    p = t * p + f32(0.319381530)
    tail = f32(0.3989422804) * math.exp(-a * a / f32(2)) * (t * p)
    return tail if x < 0 else f32(1) - tail


@njit(parallel=True)
def blackscholes(calls, puts, options, rate, volatility):
    for i in prange(len(calls)):
        price, strike, years = options[i, 0], options[i, 1], options[i, 2]
        spread = volatility * math.sqrt(years)
        d1 = ((volatility * volatility / f32(2) + rate) * years + math.log(price / strike)) / spread
        d2 = d1 - spread
        later = strike * math.exp(-rate * years)
        calls[i] = price * normal(d1) - later * normal(d2)
        puts[i] = later * normal(-d2) - price * normal(-d1)


@njit(parallel=True)
def mandelbrot(pixels, limit):
    height, width = pixels.shape
    step = 3.0 / width
    for row in prange(height):
        for col in range(width):
            cx, cy = -2.25 + col * step, -step * height / 2 + row * step
            x = y = 0.0
            turns = 0
            while turns < limit:
                x2, y2 = x * x, y * y
                if x2 + y2 > 4:
                    break
                x, y = x2 - y2 + cx, 2 * x * y + cy
                turns += 1
            pixels[row, col] = 255 * (turns + 1) // limit if turns < limit else 0


@njit(parallel=True)
def histogram(counts, x):
    parts = np.zeros((get_num_threads(), 256), np.uint32)
    size = (len(x) + len(parts) - 1) // len(parts)
    for part in prange(len(parts)):
        for i in range(part * size, min(len(x), (part + 1) * size)):
            parts[part, x[i]] += 1
    counts[:] = parts.sum(axis=0)


@njit(parallel=True)
def product(c, a, b):
    for i in prange(len(a)):
        for j in range(b.shape[1]):
            s = f32(0)
            for k in range(len(b)):
                s += a[i, k] * b[k, j]
            c[i, j] = s


@njit(parallel=True)
def wave(next, now, before, c2):
    rows, cols = now.shape
    for i in prange(rows):
        for j in range(cols):
            n = now[i - 1, j] if i > 0 else f32(0)
            s = now[i + 1, j] if i < rows - 1 else f32(0)
            w = now[i, j - 1] if j > 0 else f32(0)
            e = now[i, j + 1] if j < cols - 1 else f32(0)
            u = now[i, j]
            next[i, j] = c2 * (n + s + (w + e) - f32(4) * u) + (f32(2) * u - before[i, j])


def array(shape, k):
    return np.ascontiguousarray(unit(k).reshape(shape))


def cases():
    x = unit(many)
    yield "double", lambda: double(x), lambda: x.sum(dtype=np.float64)
    y, out = unit(many), [0]
    yield "sum", lambda: out.__setitem__(0, total(y)), lambda: out[0]
    now, next, velocity = array((4096, 4), many[:16384]), np.zeros((4096, 4), f32), np.zeros((4096, 3), f32)
    yield "nbody", lambda: nbody(next, now, velocity, f32(0.01)), lambda: next[:, 0].sum(dtype=np.float64)
    n = 1 << 18
    options = array((n, 3), many[: 3 * n]) * f32([100, 100, 1]) + f32([50, 50, 1])
    calls, puts = np.zeros(n, f32), np.zeros(n, f32)
    yield "blackscholes", lambda: blackscholes(calls, puts, options, f32(0.05), f32(0.2)), lambda: calls.sum(
        dtype=np.float64
    )
    pixels = np.zeros((600, 900), np.uint8)
    yield "mandelbrot", lambda: mandelbrot(pixels, 100), lambda: pixels.sum()
    data, counts = (number(many) % np.uint32(200)).astype(np.uint8), np.zeros(256, np.uint32)
    yield "histogram", lambda: histogram(counts, data), lambda: (counts * np.arange(256.0)).sum()
    a, c = array((512, 512), many[: 512 * 512]) - f32(0.5), np.zeros((512, 512), f32)
    b = np.ascontiguousarray(a.T)
    yield "naive", lambda: product(c, a, b), lambda: np.abs(c).sum(dtype=np.float64)
    p = 1504
    before, still, moved = (array((p, p), many[s : p * p + s]) for s in (0, 7, 0))
    yield "wave", lambda: wave(moved, still, before, f32(0.3)), lambda: np.abs(moved).sum(dtype=np.float64)


table = {name: (run, sum) for name, run, sum in cases()}
first = {}
for line in sys.stdin:
    name, runs = line.split()
    if name not in table:
        print("0 0", flush=True)
        continue
    run, sum = table[name]
    if name not in first:
        run()
        first[name] = float(sum())
    times = []
    for _ in range(int(runs)):
        start = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - start)
    print(statistics.median(times), repr(first[name]), flush=True)
