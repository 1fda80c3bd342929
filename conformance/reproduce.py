#!/usr/bin/env python3
"""Computes the digest of a case without Tandem, from the description in doc.go alone: of products,
of lu and cholesky, and of package array, but for array.Normal.

    python3 reproduce.py matmul/float32/underflow/5x7x23/packed/1,0 array.Sum/float64/wide/5x23/packed/1,0

Numbers are exact fractions and are rounded once at each step. It is slow, and for small cases;
digests are in golden.json.
"""
import hashlib
import math
import struct
import sys
from fractions import Fraction

MASK = (1 << 64) - 1
# struct codes of the number and of its bits, bits of the fraction, bias of the exponent, bits of
# the digest's NaN
FORMATS = {"float32": ("<f", "<I", 23, 127, 0x7FC00000), "float64": ("<d", "<Q", 52, 1023, 0x7FF8000000000000)}


def state(name):
    """The FNV-1a hash of name."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK
    return h


def generator(name):
    """splitmix64, started with the hash of name."""
    s = state(name)
    while True:
        s = s + 0x9E3779B97F4A7C15 & MASK
        z = (s ^ s >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        yield z ^ z >> 31


def element(u, typ, values, operand):
    """The element that u stands for."""
    if typ == "int32":
        return struct.unpack("<i", struct.pack("<I", u & 0xFFFFFFFF))[0]
    number, bits, fraction, bias, _ = FORMATS[typ]
    finite = 2 * bias + 1
    if values == "special" and u >> 53 & 7 == 0:
        largest = math.ldexp(2.0 - math.ldexp(1.0, -fraction), bias)
        smallest = math.ldexp(1.0, 1 - bias - fraction)
        return [0.0, -0.0, math.inf, -math.inf, math.nan, smallest, largest, -largest, 1.0, -1.0][(u >> 56 & 15) % 10]
    exponent = bias - 4 + (u >> 60 & 7)
    if values == "subnormal" and operand == "a":
        exponent = 0
    elif values == "underflow":
        exponent = bias - {"float32": 78, "float64": 541}[typ] + (u >> 60 & 7)
    elif values == "wide":
        exponent = (u >> 52 & 0x7FF) % finite
    width = 8 * struct.calcsize(number) - 1
    pattern = (u >> 63) << width | exponent << fraction | u & ((1 << fraction) - 1)
    return struct.unpack(number, struct.pack(bits, pattern))[0]


def rounded(x, typ):
    """The number of the type nearest to the fraction x, which is not 0, ties to even."""
    _, _, fraction, bias, _ = FORMATS[typ]
    n, d = abs(x.numerator), x.denominator
    exponent = n.bit_length() - d.bit_length()
    if Fraction(n, d) < Fraction(2) ** exponent:
        exponent -= 1
    unit = max(exponent, 1 - bias) - fraction  # of the last place
    last = round(abs(x) / Fraction(2) ** unit)  # Python rounds ties to even
    if last * Fraction(2) ** unit >= Fraction(2) ** (bias + 1):
        return -math.inf if x < 0 else math.inf
    return math.ldexp(-last if x < 0 else last, unit) if last else (-0.0 if x < 0 else 0.0)


def fma(a, b, c, typ):
    """a*b + c, rounded once; an int32 wraps."""
    if typ == "int32":
        return (a * b + c + 2**31) % 2**32 - 2**31
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return c if math.isfinite(a) and math.isfinite(b) else a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        return rounded(exact, typ)
    negative = math.copysign(1, a) * math.copysign(1, b) < 0 and math.copysign(1, c) < 0 and c == 0
    return -0.0 if negative and (a == 0 or b == 0) else 0.0


def matrix(rows, cols, typ, values, operand):
    g = generator(f"{typ}/{values}/{rows}x{cols}/{operand}")
    return [[element(next(g), typ, values, operand) for _ in range(cols)] for _ in range(rows)]


def product(name):
    """The digest of the case's result."""
    kernel, typ, values, shape, _, scalars = name.split("/")
    m, n, k = map(int, shape.split("x"))
    a, b, c = (matrix(r, s, typ, values, o) for r, s, o in ((m, k, "a"), (k, n, "b"), (m, n, "c")))
    if typ == "int32":
        alpha, beta = map(int, scalars.split(","))
    else:
        code = FORMATS[typ][0]
        alpha, beta = (struct.unpack(code, struct.pack(code, float(s)))[0] for s in scalars.split(","))
    zero, negative_zero = (0, 0) if typ == "int32" else (0.0, -0.0)
    out = []
    for i in range(m):
        for j in range(n):
            acc = c[i][j] if kernel == "addmul" else zero
            for p in range(k):
                if kernel in ("matmul_int8", "matmul_uint8"):
                    x = struct.pack("<i", a[i][p])
                    for u, v in zip(x if kernel == "matmul_uint8" else struct.unpack("4b", x),
                                    struct.unpack("4b", struct.pack("<i", b[p][j]))):
                        acc = fma(u, v, acc, typ)
                    continue
                acc = fma(-a[i][p] if kernel == "addmul" and alpha < 0 else a[i][p], b[p][j], acc, typ)
            if kernel == "addmul":
                out.append(acc)
                continue
            old = fma(beta, c[i][j], negative_zero, typ) if beta else negative_zero
            out.append(fma(alpha, acc, old, typ))
    return digest(out, typ)


def digest(elements, typ):
    return hashlib.sha256(b"".join(encoded(x, typ) for x in elements)).hexdigest()


def nearest(x, typ):
    """The element nearest to the fraction x; an int32 wraps."""
    if typ == "int32":
        return (int(x) + 2**31) % 2**32 - 2**31
    return rounded(x, typ) if x else 0.0


def root(x, typ):
    """The root of the fraction x, rounded once."""
    scaled = x * 4**1200  # an integer, or far more digits than any element has
    low = math.isqrt(int(scaled))
    return nearest(Fraction(2 * low + (low * low != scaled), 2 ** 1201), typ)


def exact(xs, then, power=1):
    """What then makes of the exact sum of powers of xs, or the sum that is no number."""
    special = [x**power for x in xs if not math.isfinite(x)]
    return sum(special) if special else then(sum(Fraction(x) ** power for x in xs))


def key(x):
    """The order of sorts and maxima: -0 before +0, NaN last."""
    return (True, 0.0, 0.0) if math.isnan(x) else (False, x, math.copysign(1, x))


REDUCTIONS = {
    "Sum": lambda xs, typ: exact(xs, lambda s: nearest(s, typ)),
    "Mean": lambda xs, typ: exact(xs, lambda s: nearest(s / len(xs), typ)),
    "Norm": lambda xs, typ: exact(xs, lambda s: root(s, typ), power=2),
    "Max": lambda xs, typ: max(xs, key=key),
    "ArgMax": lambda xs, typ: max(range(len(xs)), key=lambda i: key(xs[i])),  # the first
}


def sums_so_far(xs, typ):
    for i in range(len(xs)):
        yield REDUCTIONS["Sum"](xs[:i + 1], typ)


def words(seed, block, attempt=0):
    """A block of stream 5 of Philox4x32-10."""
    c, k, low = [block & 2**32 - 1, block >> 32 | attempt << 16, 5, 0], [seed & 2**32 - 1, seed >> 32], 2**32 - 1
    for _ in range(10):
        p, q = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [q >> 32 ^ c[1] ^ k[0], q & low, p >> 32 ^ c[3] ^ k[1], p & low]
        k = [k[0] + 0x9E3779B9 & low, k[1] + 0xBB67AE85 & low]
    return c


def integer(seed, k):
    """Number k of those from -2^30 to 3*2^29 - 1."""
    low, span, attempt = -2**30, 3 * 2**29 + 2**30, 0
    while (w := words(seed, k // 4, attempt)[k % 4] * span) % 2**32 < 2**32 % span:
        attempt += 1
    return low + (w >> 32)


def uniform(seed, k, typ):
    if typ == "float32":
        return (words(seed, k // 4)[k % 4] >> 8) / 2**24
    w = words(seed, k // 2)[k % 2 * 2:]
    return (w[1] << 32 | w[0]) // 2**11 / 2**53


def halved(x, bits, least, most):
    """x rounded to numbers of some bits, multiples of 2^least, below 2^most."""
    if x == 0 or not math.isfinite(x):
        return x
    unit = Fraction(2) ** max(math.frexp(x)[1] - bits, least)
    y = round(Fraction(x) / unit) * unit
    return math.copysign(math.inf if abs(y) >= 2 ** most else float(abs(y)), x)


def array(name):
    """The digest of a case of package array."""
    kernel, typ, values, shape, _, _ = name.split("/")
    m, n = map(int, shape.split("x"))
    a, b, c = (matrix(r, n, typ, values, o) for r, o in ((m, "a"), (m, "b"), (1, "c")))
    flat, function, seed = sum(a, []), kernel.removeprefix("array."), state(f"{typ}/{values}/{m}x{n}/a")
    if function in REDUCTIONS:
        lists = [flat, *zip(*a), *a]
        return digest([REDUCTIONS[function](list(xs), typ) for xs in lists], typ)
    if function == "CumSum":
        return digest([x for row in a for x in sums_so_far(row, typ)], typ)
    if function == "Sort":
        orders = [sorted(range(n), key=lambda j: key(row[j])) for row in a]
        return digest([row[j] for row, o in zip(a, orders) for j in o] + sum(orders, []), typ)
    if function == "Convert":
        return digest([halved(x, *form) for form in ((11, -24, 16), (8, -133, 128)) for x in flat], typ)
    if function == "Map":
        return digest([fma(x, y, z, typ) if x < y else fma(-1 if typ == "int32" else -1.0, y, x, typ)
                       for row, other in zip(a, b) for x, y, z in zip(row, other, c[0])], typ)
    if function == "Integers":
        return digest([integer(seed, k) for k in range(m * n)], typ)
    return digest([uniform(seed, k, typ) for k in range(m * n)], typ)


def divided(a, b, typ):
    return nearest(Fraction(a) / Fraction(b), typ)


def lu(name):
    """The digest of the case's L and U, and the pivots."""
    _, typ, values, shape, _, _ = name.split("/")
    m, n = map(int, shape.split("x"))
    a, pivots = matrix(m, n, typ, values, "a"), []
    for k in range(min(m, n)):
        p = max(range(k, m), key=lambda i: abs(a[i][k]))  # the upper one of two
        a[k], a[p] = a[p], a[k]
        pivots.append(p)
        for i in range(k + 1, m):
            a[i][k] = divided(a[i][k], a[k][k], typ)
            for j in range(k + 1, n):
                a[i][j] = fma(-a[i][k], a[k][j], a[i][j], typ)
    return digest(sum(a, []) + pivots, typ)


def cholesky(name):
    """The digest of the case's L."""
    _, typ, values, shape, _, _ = name.split("/")
    n = int(shape.split("x")[0])
    a = matrix(n, n, typ, values, "a")
    for i in range(n):
        a[i] = a[i][:i] + [nearest(Fraction(abs(a[i][i])) + 16 * n, typ)] + [0.0] * (n - i - 1)
    for k in range(n):
        a[k][k] = root(Fraction(a[k][k]), typ)
        for i in range(k + 1, n):
            a[i][k] = divided(a[i][k], a[k][k], typ)
            for j in range(k + 1, i + 1):
                a[i][j] = fma(-a[i][k], a[j][k], a[i][j], typ)
    return digest(sum(a, []), typ)


def encoded(x, typ):
    """Little-endian bytes, every NaN the same."""
    if typ == "int32":
        return struct.pack("<i", x)
    number, bits, _, _, nan = FORMATS[typ]
    return struct.pack(bits, nan) if math.isnan(x) else struct.pack(number, x)


if __name__ == "__main__":
    for case in sys.argv[1:]:
        otherwise = array if case.startswith("array.") else product
        compute = {"lu": lu, "cholesky": cholesky}.get(case.split("/")[0], otherwise)
        print(case, compute(case))
