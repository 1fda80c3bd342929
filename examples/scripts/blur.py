import numpy as np


def blur(n):
    image = np.random.default_rng(7).random((n, n), dtype=np.float32)
    weights = np.exp(-np.arange(-3, 4, dtype=np.float32) ** 2 / 4)
    weights /= weights.sum()
    padded = np.pad(image, 3)
    rows = sum(w * padded[i:i + n] for i, w in enumerate(weights))
    out = sum(w * rows[:, i:i + n] for i, w in enumerate(weights))
    print("deviation:", image.std(), out.std())
    return out
