import numpy as np


def kmeans(n, k=16, d=4):
    rng = np.random.default_rng(1)
    x = 8 * rng.random((n, d), dtype=np.float32).round() + rng.standard_normal((n, d), dtype=np.float32)
    c = x[:k]
    for _ in range(10):
        nearest = ((c * c).sum(1) - 2 * (x @ c.T)).argmin(1)
        member = (nearest[:, None] == np.arange(k)).astype(np.float32)
        sizes = np.maximum(member.sum(0), 1)
        c = member.T @ x / sizes[:, None]
    print("points by cluster, or 1:", sizes)
    return c
