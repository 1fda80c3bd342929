import numpy as np


def nearest(n, d=32, queries=100, k=10):
    rng = np.random.default_rng(8)
    x = rng.standard_normal((n, d), dtype=np.float32)
    q = rng.standard_normal((queries, d), dtype=np.float32)
    near = (q * q).sum(1)[:, None] + (x * x).sum(1) - 2 * (q @ x.T)
    index = np.argsort(near, 1, kind="stable")[:, :k]
    print("nearest:", index[0], np.sqrt(near[0, index[0]]))
    return index
