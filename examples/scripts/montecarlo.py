import numpy as np


def montecarlo(n, price=100, strike=105, rate=0.05, volatility=0.2):
    rng = np.random.default_rng(6)
    z = rng.standard_normal(n, dtype=np.float32)
    gain = np.maximum(price * np.exp(rate - volatility**2 / 2 + volatility * z) - strike, 0)
    print("option:", gain.mean(), "+-", gain.std() / n**0.5)
    return gain
