import os.path

import numpy as np


def network(steps, hidden=32, trained=1500, batch=100, rate=0.5):
    file = os.path.join(os.path.dirname(__file__), "../internal/digits/digits.csv.gz")
    x, digits = np.split(np.loadtxt(file, np.float32, delimiter=","), [64], 1)
    x, y = x / 16, (digits == np.arange(10)).astype(np.float32)
    rng = np.random.default_rng(3)
    w1, b1 = 0.2 * rng.standard_normal((64, hidden), dtype=np.float32), np.zeros(hidden, np.float32)
    w2, b2 = 0.2 * rng.standard_normal((hidden, 10), dtype=np.float32), np.zeros(10, np.float32)
    losses = []
    for i in range(steps):
        now = slice(i * batch % trained, i * batch % trained + batch)
        h = np.maximum(x[now] @ w1 + b1, 0)
        p = softmax(h @ w2 + b2)
        losses.append(-np.vdot(y[now], np.log(p)) / batch)
        dz = (p - y[now]) / batch
        dh = (dz @ w2.T) * (h > 0)
        w2 -= rate * (h.T @ dz)
        w1 -= rate * (x[now].T @ dh)
        b2 -= rate * dz.sum(0)
        b1 -= rate * dh.sum(0)
    guess = softmax(np.maximum(x[trained:] @ w1 + b1, 0) @ w2 + b2).argmax(1)
    print("loss:", losses[0], losses[-1], "right:", (guess == digits[trained:, 0]).sum(), "of", len(guess))
    return w1


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)
