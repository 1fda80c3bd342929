#!/usr/bin/env python3
"""Computes the digest of a product's case without Tandem, from the description in doc.go alone.

    python3 reproduce.py matmul/float32/underflow/5x7x23/packed/1,0

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


def generator(name):
    """splitmix64, started with the FNV-1a hash of name."""
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001B3 & MASK
    while True:
        state = state + 0x9E3779B97F4A7C15 & MASK
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
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
    digest = hashlib.sha256()
    for i in range(m):
        for j in range(n):
            acc = c[i][j] if kernel == "addmul" else zero
            for p in range(k):
                acc = fma(-a[i][p] if kernel == "addmul" and alpha < 0 else a[i][p], b[p][j], acc, typ)
            if kernel == "addmul":
                digest.update(encoded(acc, typ))
                continue
            old = fma(beta, c[i][j], negative_zero, typ) if beta else negative_zero
            digest.update(encoded(fma(alpha, acc, old, typ), typ))
    return digest.hexdigest()


def encoded(x, typ):
    """Little-endian bytes, every NaN the same."""
    if typ == "int32":
        return struct.pack("<i", x)
    number, bits, _, _, nan = FORMATS[typ]
    return struct.pack(bits, nan) if math.isnan(x) else struct.pack(number, x)


if __name__ == "__main__":
    for case in sys.argv[1:]:
        print(case, product(case))
