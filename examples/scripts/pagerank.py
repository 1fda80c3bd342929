import numpy as np


def pagerank(n):
    rng = np.random.default_rng(4)
    links = (rng.random((n, n), dtype=np.float32) < 8 / n).astype(np.float32)
    links /= np.maximum(links.sum(0), 1)
    rank = np.full(n, 1 / n, np.float32)
    for _ in range(50):
        rank = 0.85 * (links @ rank) + 0.15 / n
    best = np.argsort(-rank, kind="stable")[:5]
    print("best:", best, rank[best])
    return rank
