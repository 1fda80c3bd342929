import numpy as np


def logistic(n, d=20):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((n, d), dtype=np.float32)
    truth = rng.standard_normal(d, dtype=np.float32)
    y = x @ truth + rng.standard_normal(n, dtype=np.float32) > 0
    w = np.zeros(d, np.float32)
    for _ in range(100):
        w += (y - 1 / (1 + np.exp(-(x @ w)))) @ x / n
    print("wrong:", ((x @ w > 0) != y).sum(), "of", n)
    return w
