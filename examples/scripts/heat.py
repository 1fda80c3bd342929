import numpy as np


def heat(n):
    t = np.zeros((n, n), np.float32)
    t[0] = 100
    up, down, left, right, middle = t[:-2, 1:-1], t[2:, 1:-1], t[1:-1, :-2], t[1:-1, 2:], t[1:-1, 1:-1]
    for _ in range(200):
        middle += 0.2 * (up + down + left + right - 4 * middle)
    print("mean:", t.mean())
    return t
