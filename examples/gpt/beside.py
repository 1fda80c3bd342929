"""The model of this example in JAX, for its speed and its bits beside ours.

    pip install jax
    python beside.py train              # tokens/s of training
    python beside.py write              # characters/s, each a call, and all of them in one loop
    python beside.py bits               # digests after 50 steps; of a row alone and among eight
    go run . -backend cpu 2> ours.txt; python beside.py plot ours.txt > losses.svg

The threads are those of the processors that it may run on (taskset).
"""
import hashlib, os, re, sys, time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

D, H, L, T, BATCH = 64, 4, 4, 64, 16
text = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "opticks.txt")).read()
chars = sorted(set(text))
data = jnp.array([chars.index(c) for c in text], jnp.int32)
V, trained = len(chars), len(text) // 10 * 9
mask = jnp.tril(jnp.ones((T, T), bool))
key = jax.random.PRNGKey(1)


def init(key):
    keys = iter(jax.random.split(key, 2 + 6 * L))
    normal = lambda m, n, more=1: jax.random.normal(next(keys), (m, n)) / (m * more) ** 0.5
    return {"wte": normal(D, V).T, "wpe": normal(T, D), "layers": [
        {"q": normal(D, D), "k": normal(D, D), "v": normal(D, D), "o": normal(D, D, 2 * L),
         "up": normal(D, 4 * D), "down": normal(4 * D, D, 2 * L)} for _ in range(L)]}


def norm(x):
    d = x - x.mean(-1, keepdims=True)
    return d * jax.lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5)


def forward(w, tokens):
    heads = lambda x: x.reshape(*x.shape[:2], H, D // H).transpose(0, 2, 1, 3)
    x = w["wte"][tokens] + w["wpe"]
    for l in w["layers"]:
        h = norm(x)
        q, k, v = heads(h @ l["q"]), heads(h @ l["k"]), heads(h @ l["v"])
        p = jax.nn.softmax(jnp.where(mask, q @ k.transpose(0, 1, 3, 2) * (D // H) ** -0.5, -jnp.inf))
        x = x + (p @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ l["o"]
        x = x + jax.nn.gelu(norm(x) @ l["up"], approximate=True) @ l["down"]
    return norm(x) @ w["wte"].T


def loss(w, tokens, following):
    logs = jax.nn.log_softmax(forward(w, tokens))
    return -jnp.take_along_axis(logs, following[..., None], -1).mean()


@partial(jax.jit, donate_argnums=(0, 1, 2))
def step(w, m, v, i):
    at = jax.random.randint(jax.random.fold_in(key, i), (BATCH,), 0, trained - T)
    rows = data[at[:, None] + jnp.arange(T + 1)]
    l, g = jax.value_and_grad(loss)(w, rows[:, :-1], rows[:, 1:])
    over = jnp.maximum(jnp.sqrt(sum((x * x).sum() for x in jax.tree.leaves(g))), 1)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g / over, m, g)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * (g / over) ** 2, v, g)
    t = i + 1.0
    rate = 8e-3 * jnp.minimum(t / 20, 0.55 + 0.45 * jnp.cos(jnp.pi * t / 800))
    by, by_square = 1 / (1 - 0.9**t), 1 / (1 - 0.99**t)
    move = lambda w, m, v: w - rate * (m * by / (jnp.sqrt(v * by_square) + 1e-8) + 0.1 * w)
    return jax.tree.map(move, w, m, v), m, v, l


def following(w, tokens, n, i):
    """The token after n, and the window with it."""
    scores = forward(w, tokens[None])[0, n - 1]
    token = jax.random.categorical(jax.random.fold_in(key, i), scores / 0.7).astype(jnp.int32)
    full = n == T
    tokens = jnp.where(full, jnp.roll(tokens, -1), tokens).at[jnp.where(full, T - 1, n)].set(token)
    return tokens, jnp.minimum(n + 1, T), token


def digest(tree):
    return hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in jax.tree.leaves(tree))).hexdigest()[:16]


def train(steps, seen=lambda l: None):
    w = init(key)
    m, v = (jax.tree.map(jnp.zeros_like, w) for _ in range(2))
    w, m, v, l = step(w, m, v, 0)
    l.block_until_ready()
    start = time.time()
    for i in range(1, steps):
        w, m, v, l = step(w, m, v, i)
        seen(l)
    l.block_until_ready()
    return w, l, (steps - 1) * BATCH * T / (time.time() - start)


match sys.argv[1]:
    case "train":
        print("%.0f tokens/s" % train(101)[2])
    case "write":
        n, w, call = 500, init(key), jax.jit(following)
        state = call(w, jnp.zeros(T, jnp.int32), 1, 0)
        start = time.time()
        for i in range(n):
            state = call(w, *state[:2], i)
            int(state[2])  # which is printed
        calls = n / (time.time() - start)

        @jax.jit
        def loop(w, state):
            def body(state, i):
                *state, token = following(w, *state, i)
                return tuple(state), token
            return jax.lax.scan(body, state, jnp.arange(n))
        loop(w, state[:2])[1].block_until_ready()
        start = time.time()
        loop(w, state[:2])[1].block_until_ready()
        print("%.0f characters/s by calls, %.0f in one loop" % (calls, n / (time.time() - start)))
    case "bits":
        w, l, _ = train(50)
        print("weights after 50 steps, loss %.4f: %s" % (l, digest(w)))
        rows = data[jnp.arange(8)[:, None] * 1000 + jnp.arange(T)]
        f = jax.jit(forward)
        eight, alone = np.asarray(f(w, rows)), np.asarray(f(w, rows[:1]))
        print("scores of a row: %s among eight, %s alone" % (digest(eight[0]), digest(alone[0])))
    case "plot":
        theirs = []
        train(800, theirs.append)
        theirs = [(i + 1, float(np.mean(theirs[i - 19:i + 1]))) for i in range(19, len(theirs), 20)]
        ours = re.findall(r"step (\d+) of \d+: loss ([\d.]+)", open(sys.argv[2]).read())
        print('<svg xmlns="http://www.w3.org/2000/svg" width="640" height="260" '
              'font-family="sans-serif" font-size="13">')
        print('<rect width="640" height="260" fill="white"/>')
        for loss in range(1, 5):
            y = 230 - 60 * (loss - 1)
            print(f'<path d="M40 {y}H600" stroke="#ddd"/><text x="24" y="{y + 4}">{loss}</text>')
        for at in range(0, 801, 200):
            print(f'<text x="{40 + 0.7 * at}" y="248" text-anchor="middle">{at}</text>')
        for i, (name, color, curve) in enumerate((("Tandem", "#c33", ours), ("JAX", "#36c", theirs))):
            points = " ".join(f"{40 + 0.7 * float(x):.1f},{230 - 60 * (float(y) - 1):.1f}" for x, y in curve)
            print(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>')
            print(f'<text x="480" y="{60 + 20 * i}" fill="{color}">{name}</text>')
        print('<text x="430" y="30">loss of a batch, by step</text></svg>')
