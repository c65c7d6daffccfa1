"""Small transformers of JAX, written as people write them: GPT and Llama as functions, one layer after another or in a scan, and GPT as a
module of flax.nnx. Each takes `remat`, which wraps the layer."""

from functools import partial

import jax
import jax.numpy as jnp

HEADS, VOCABULARY = 4, 512


def matrices(key, **shapes):
    keys = jax.random.split(key, len(shapes))
    return {name: 0.02 * jax.random.normal(each, shape) for each, (name, shape) in zip(keys, shapes.items())}


def split_heads(x, heads=HEADS):
    return x.reshape(*x.shape[:-1], heads, -1)


def attend(q, k, v):
    """Returns attention that sees no later token, of the shape of q. The heads of k and v may be fewer than those of q."""
    k, v = (jnp.repeat(x, q.shape[-2] // x.shape[-2], axis=-2) for x in (k, v))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def cross_entropy(logits, targets):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], axis=-1).mean()


def layer_norm(x, scale):
    centred = x - x.mean(-1, keepdims=True)
    return scale * centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5)


def gpt_layer(x, weights):
    q, k, v = map(split_heads, jnp.split(layer_norm(x, weights["norm1"]) @ weights["qkv"], 3, axis=-1))
    x = x + attend(q, k, v).reshape(x.shape) @ weights["out"]
    return x + jax.nn.gelu(layer_norm(x, weights["norm2"]) @ weights["up"]) @ weights["down"]


def gpt_weights(key, layers, width, tokens):
    blocks = [dict(matrices(jax.random.fold_in(key, layer), qkv=(width, 3 * width), out=(width, width), up=(width, 4 * width),
                            down=(4 * width, width)), norm1=jnp.ones(width), norm2=jnp.ones(width)) for layer in range(layers)]
    return dict(matrices(key, tokens=(VOCABULARY, width), positions=(tokens, width)), norm=jnp.ones(width), blocks=blocks)


def run_layers(layer, x, blocks):
    """Runs a layer for each of a list of weights, or in a scan where they are stacked."""
    if isinstance(blocks, dict):
        return jax.lax.scan(lambda x, weights: (layer(x, weights), None), x, blocks)[0]
    for weights in blocks:
        x = layer(x, weights)
    return x


def gpt_loss(weights, ids, targets, remat=lambda layer: layer):
    x = run_layers(remat(gpt_layer), weights["tokens"][ids] + weights["positions"], weights["blocks"])
    return cross_entropy(layer_norm(x, weights["norm"]) @ weights["tokens"].T, targets)


def rms_norm(x, scale):
    return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6) * scale


def rotate(x):
    """Rotary positions, by halves, of an array of batch, tokens, heads and numbers of a head."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] / 10000 ** (jnp.arange(half) / half)
    sine, cosine = jnp.sin(angles)[None, :, None], jnp.cos(angles)[None, :, None]
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate([first * cosine - second * sine, second * cosine + first * sine], -1)


def llama_layer(x, weights):
    h = rms_norm(x, weights["norm1"])
    q, k, v = split_heads(h @ weights["q"]), split_heads(h @ weights["k"], HEADS // 2), split_heads(h @ weights["v"], HEADS // 2)
    x = x + attend(rotate(q), rotate(k), v).reshape(x.shape) @ weights["out"]
    h = rms_norm(x, weights["norm2"])
    return x + (jax.nn.silu(h @ weights["gate"]) * (h @ weights["up"])) @ weights["down"]


def llama_weights(key, layers, width, tokens):
    hidden = 11 * width // 4
    blocks = [dict(matrices(jax.random.fold_in(key, layer), q=(width, width), k=(width, width // 2), v=(width, width // 2), out=(width, width),
                            gate=(width, hidden), up=(width, hidden), down=(hidden, width)),
                   norm1=jnp.ones(width), norm2=jnp.ones(width)) for layer in range(layers)]
    return dict(matrices(key, tokens=(VOCABULARY, width), head=(width, VOCABULARY)), norm=jnp.ones(width), blocks=blocks)


def llama_loss(weights, ids, targets, remat=lambda layer: layer):
    x = run_layers(remat(llama_layer), weights["tokens"][ids], weights["blocks"])
    return cross_entropy(rms_norm(x, weights["norm"]) @ weights["head"], targets)


def stacked(weights):
    """Returns weights whose blocks are stacked, for a scan."""
    return dict(weights, blocks=jax.tree.map(lambda *blocks: jnp.stack(blocks), *weights["blocks"]))


def nnx_weights_and_loss(layers, width, tokens):
    """Returns the parameters of a GPT of flax.nnx, and its loss as a function of them."""
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, rngs):
            self.norm1, self.norm2 = nnx.LayerNorm(width, rngs=rngs), nnx.LayerNorm(width, rngs=rngs)
            self.qkv, self.out = nnx.Linear(width, 3 * width, rngs=rngs), nnx.Linear(width, width, rngs=rngs)
            self.up, self.down = nnx.Linear(width, 4 * width, rngs=rngs), nnx.Linear(4 * width, width, rngs=rngs)

        def __call__(self, x):
            q, k, v = map(split_heads, jnp.split(self.qkv(self.norm1(x)), 3, axis=-1))
            x = x + self.out(attend(q, k, v).reshape(x.shape))
            return x + self.down(jax.nn.gelu(self.up(self.norm2(x))))

    class Gpt(nnx.Module):
        def __init__(self, rngs):
            self.tokens, self.positions = nnx.Embed(VOCABULARY, width, rngs=rngs), nnx.Embed(tokens, width, rngs=rngs)
            self.blocks = nnx.List([Block(rngs) for _ in range(layers)])
            self.norm = nnx.LayerNorm(width, rngs=rngs)

        def __call__(self, ids, remat):
            x = self.tokens(ids) + self.positions(jnp.arange(tokens))
            for block in self.blocks:
                graph, state = nnx.split(block)
                x = remat(lambda x, state, graph=graph: nnx.merge(graph, state)(x))(x, state)
            return self.tokens.attend(self.norm(x))

    graph, state = nnx.split(Gpt(nnx.Rngs(0)))

    def loss(state, ids, targets, remat=lambda layer: layer):
        return cross_entropy(nnx.merge(graph, state)(ids, remat), targets)

    return state, loss


def make(name, layers, width, batch, tokens):
    """Returns a loss, which takes `remat`, and its arguments. name: gpt, llama or nnx, or gpt-scan or llama-scan."""
    key = jax.random.key(0)
    ids = jax.random.randint(key, (batch, tokens), 0, VOCABULARY)
    if name == "nnx":
        weights, loss = nnx_weights_and_loss(layers, width, tokens)
    else:
        make_weights, loss = {"gpt": (gpt_weights, gpt_loss), "llama": (llama_weights, llama_loss)}[name.split("-")[0]]
        weights = make_weights(key, layers, width, tokens)
        weights = stacked(weights) if name.endswith("-scan") else weights
    return loss, (weights, ids, jnp.roll(ids, -1, axis=1))


def with_policy(loss, policy):
    """Returns the loss with jax.checkpoint of each layer, under a policy of JAX by its name."""
    return partial(loss, remat=partial(jax.checkpoint, policy=getattr(jax.checkpoint_policies, policy)))
