"""What an op of a step computes, in float64, by the key that names its kernel (include/llmmem/Interfaces/KernelKind.h).

Formulas are those of the ops' descriptions (docs/Reference), written for numpy and PyTorch alike: `xp` is either module. Each
gives for every result its values and what their rounding errors are in parts of: the sum of the magnitudes of the terms.
"""
import math
import re

# Half a unit in the last place, of a number: what one rounding changes at most.
ROUNDING = {"bf16": 2.0 ** -8, "f16": 2.0 ** -11, "f32": 2.0 ** -24}
# Sums in f32 of up to some ten thousand terms, and functions within a few units of f32.
OF_SUMS = 3e-5


class Unknown(Exception):
    """Raised where there is no formula for such an op here."""


class Key:
    """layer_norm_grad+add(1x64x768xbf16, 1x64xf32 * 2) -> 1x64x768xbf16 {eps = 1.0e-5 : f64} [layer_norm_grad 0 1 2; add 3 0]"""

    def __init__(self, text):
        head = re.match(r"([\w+]+)\((.*?)\) -> ([^{\[]*)(?:\{(.*?)\})?\s*(?:\[(.*)\])?$", text)
        if not head:
            raise Unknown(f"'{text}' is no key")
        self.kind, self.attributes = head[1], attributes_of(head[4] or "")
        self.operands, self.results = types_of(head[2]), types_of(head[3])
        body = head[5]
        # (name, numbers of what it reads, attributes)
        self.ops = [(self.kind, list(range(len(self.operands))), self.attributes)] if body is None else \
            [op_of(part) for part in re.split(r";\s*(?![^{]*\})", body)]


def types_of(text):
    """Returns (shape, element) of each."""
    found = []
    for part in filter(None, map(str.strip, text.split(","))):
        one, _, count = part.partition(" * ")
        *shape, element = one.split("x")
        found += [(tuple(map(int, shape)), element)] * int(count or 1)
    return found


def attributes_of(text):
    found = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = part.partition(" = ")
        number = value.split(" : ")[0]
        found[name] = True if not value else number if not re.match(r"-?[\d.]", number) else float(number)
    return found


def op_of(text):
    head = re.match(r"(\w+)((?: \d+)*)\s*(?:\{(.*)\})?", text.strip())
    return head[1], list(map(int, head[2].split())), attributes_of(head[3] or "")


#
# Formulas: (xp, attributes, operands, types of results) -> [(value, magnitude)]
#

def rows(x):
    return x.reshape(-1, x.shape[-1])


def plain(value):
    return [(value, abs(value))]


def gelu(xp, x):
    return 0.5 * x * (1 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def gelu_slope(xp, x):
    t = xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)


def logistic(xp, x):
    return 1 / (1 + xp.exp(-x))


def silu_grad(xp, attributes, operands, _):
    x, dy = operands
    alpha = attributes.get("alpha", 1.0)
    s = logistic(xp, alpha * x)
    return [(dy * s * (1 + alpha * x * (1 - s)), abs(dy) * (1 + abs(alpha * x)))]


def layer_norm(xp, attributes, operands, _):
    x, weight, bias = operands
    mean = x.mean(-1)
    centred = x - mean[..., None]
    rstd = 1 / xp.sqrt((centred * centred).mean(-1) + attributes["eps"])
    normed = centred * rstd[..., None]
    return [(normed * weight + bias, abs(normed * weight) + abs(bias)), (mean, abs(x).mean(-1)), (rstd, rstd)]


def rms_norm(xp, attributes, operands, _):
    x, weight = operands
    rstd = 1 / xp.sqrt((x * x).mean(-1) + attributes["eps"])
    return plain(x * rstd[..., None] * (attributes.get("offset", 0.0) + weight)) + plain(rstd)


def layer_norm_grad(xp, attributes, operands, _):
    x, mean, rstd, weight, dy = operands
    n, g, scale = (x - mean[..., None]) * rstd[..., None], dy * weight, rstd[..., None]
    along = (g * n).mean(-1)[..., None]
    return [(scale * (g - g.mean(-1)[..., None] - n * along),
             scale * (abs(g) + abs(g).mean(-1)[..., None] + abs(n) * abs(g * n).mean(-1)[..., None]))]


def rms_norm_grad(xp, attributes, operands, _):
    x, rstd, weight, dy = operands
    n, g, scale = x * rstd[..., None], dy * (attributes.get("offset", 0.0) + weight), rstd[..., None]
    return [(scale * (g - n * (g * n).mean(-1)[..., None]), scale * (abs(g) + abs(n) * abs(g * n).mean(-1)[..., None]))]


def norm_weight_grad(xp, attributes, operands, results):
    x, dy, rstd, *rest = operands
    n = x
    if rest and rest[0].shape == rstd.shape:
        n = n - rest.pop(0)[..., None]
    return sum_of(dy * n * rstd[..., None], rest)


def sum_of(terms, into):
    """Returns the sum over rows, and what it is added to."""
    value, magnitude = rows(terms).sum(0), rows(abs(terms)).sum(0)
    for more in into:
        value, magnitude = value + more, magnitude + abs(more)
    return [(value, magnitude)]


def rope(xp, attributes, operands, _):
    if set(attributes) - {"heads", "theta", "inverse"} or len(operands) > 1:
        raise Unknown("rope with more to it")
    x, heads = operands[0], int(attributes["heads"])
    parts = x.reshape(*x.shape[:-1], heads, 2, -1)
    half = parts.shape[-1]
    # Ones of the kind of x, on its device, are summed up.
    ones = x[0, :, 0] * 0 + 1
    position, number = ones.cumsum(0) - 1, (parts[0, 0, 0, 0] * 0 + 1).cumsum(0) - 1
    angle = position[:, None] * xp.exp(-math.log(attributes["theta"]) / half * number)[None, :]
    cosine, sine = xp.cos(angle)[:, None], xp.sin(angle)[:, None] * (-1 if attributes.get("inverse") else 1)
    first, second = parts[..., 0, :], parts[..., 1, :]
    value, magnitude = parts * 0, parts * 0
    value[..., 0, :], value[..., 1, :] = first * cosine - second * sine, second * cosine + first * sine
    magnitude[..., 0, :] = magnitude[..., 1, :] = abs(first) + abs(second)
    return [(value.reshape(x.shape), magnitude.reshape(x.shape))]


def by_ids(xp, shape, ids, terms):
    """Returns the sum of the rows of `terms` by their ids."""
    table = terms.reshape(-1)[:1] * 0 + (terms.new_zeros(shape) if hasattr(terms, "new_zeros") else xp.zeros(shape))
    if hasattr(table, "index_add_"):
        return table.index_add_(0, ids.reshape(-1).long(), rows(terms))
    xp.add.at(table, ids.reshape(-1).astype(int), rows(terms))
    return table


def embedding_grad(xp, attributes, operands, results):
    ids, dy, *into = operands
    value, magnitude = by_ids(xp, results[0][0], ids, dy), by_ids(xp, results[0][0], ids, abs(dy))
    for more in into:
        value, magnitude = value + more, magnitude + abs(more)
    return [(value, magnitude)]


def positions_grad(xp, attributes, operands, results):
    dy, *into = operands
    summed, magnitudes = dy.sum(0), abs(dy).sum(0)
    value = by_ids(xp, results[0][0], (summed[:, 0] * 0 + 1).cumsum(0) - 1, summed)
    magnitude = by_ids(xp, results[0][0], (summed[:, 0] * 0 + 1).cumsum(0) - 1, magnitudes)
    for more in into:
        value, magnitude = value + more, magnitude + abs(more)
    return [(value, magnitude)]


def indices(xp, ids):
    return ids.long() if hasattr(ids, "long") else ids.astype(int)


def linear(xp, attributes, operands, _):
    x, weight, *bias = operands
    weight = weight.T if attributes.get("layout") else weight
    value, magnitude = x @ weight, abs(x) @ abs(weight)
    for more in bias:
        value, magnitude = value + more, magnitude + abs(more)
    return [(value, magnitude)]


def linear_weight_grad(xp, attributes, operands, _):
    x, dy, *into = operands
    a, b = (rows(dy), rows(x)) if attributes.get("layout") else (rows(x), rows(dy))
    value, magnitude = a.T @ b, abs(a).T @ abs(b)
    for more in into:
        value, magnitude = value + more, magnitude + abs(more)
    return [(value, magnitude)]


def adamw(xp, attributes, operands, results):
    if len(operands) not in (6, 7) or attributes.get("clip_norm", 0.0):
        raise Unknown("adamw with more to it")
    p, g, m, v, rate, step, *master = operands
    b1, b2 = attributes["beta1"], attributes["beta2"]
    p, rate, step = (master or [p])[0], float(rate), float(step)
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    change = rate / (1 - b1 ** step) * m / (xp.sqrt(v) / math.sqrt(1 - b2 ** step) + attributes["eps"])
    new = p * (1 - rate * attributes["weight_decay"]) - change
    moments = [(m, abs(m) + abs(g)), (v, v)]
    wide = [(new, abs(new) + abs(change))]
    return wide + moments + (wide if master else [])


def loss_head(xp, attributes, operands, results):
    """The kernel rounds logits, and their gradient, to their type: the gradients err by that of each term."""
    x, weight, targets, *rest = operands
    if attributes.get("label_smoothing") or attributes.get("z_loss") or "vocabulary" in attributes or len(rest) > 1:
        raise Unknown("a loss head with more to it")
    weight = weight.T if not attributes.get("layout") else weight
    x, ids = rows(x), indices(xp, targets.reshape(-1))
    is_counted = ids != int(attributes["ignore_index"])
    count, loss, slack = float(is_counted.sum()), 0.0, 0.0
    dx, of_dx, dw, of_dw = x * 0, x * 0, weight * 0, weight * 0
    for begin in range(0, x.shape[0], 1024):
        some, at, counted = x[begin:begin + 1024], ids[begin:begin + 1024], is_counted[begin:begin + 1024]
        logits = some @ weight.T
        most = logits.max(-1)
        most = (most.values if hasattr(most, "values") else most)[:, None]
        powers = xp.exp(logits - most)
        lse = xp.log(powers.sum(-1)) + most[:, 0]
        gradient, row = powers / powers.sum(-1)[:, None], (at * 0 + 1).cumsum(0) - 1
        hit = logits[row, at * counted]
        loss, slack = loss + float(((lse - hit) * counted).sum()), max(slack, float(abs(logits).max()))
        gradient[row, at * counted] -= 1
        gradient = gradient * counted[:, None] / count
        dx[begin:begin + 1024], of_dx[begin:begin + 1024] = gradient @ weight, abs(gradient) @ abs(weight)
        dw, of_dw = dw + gradient.T @ some, of_dw + abs(gradient).T @ abs(some)
    for more in rest:
        dw, of_dw = dw + (more if attributes.get("layout") else more.T), of_dw
    of_loss = x.reshape(-1)[:1].reshape(()) * 0
    rounded = ROUNDING.get(results[1][1], 0.0) * (1 + slack) / OF_SUMS
    turn = (lambda one: one) if attributes.get("layout") else (lambda one: one.T)
    of_inputs = [] if "constant_x" in attributes else [(dx.reshape(results[1][0]), (of_dx * rounded).reshape(results[1][0]))]
    return [(of_loss + loss / count, of_loss + abs(loss / count) + rounded), *of_inputs, (turn(dw), turn(of_dw) * rounded)]


FORMULAS = {
    "embedding": lambda xp, a, o, _: plain(o[1][indices(xp, o[0])]),
    "add_positions": lambda xp, a, o, _: [(o[0] + o[1][:o[0].shape[1]], abs(o[0]) + abs(o[1][:o[0].shape[1]]))],
    "add": lambda xp, a, o, _: [(o[0] + o[1], abs(o[0]) + abs(o[1]))],
    "mul": lambda xp, a, o, _: plain(o[0] * o[1]),
    "gelu": lambda xp, a, o, _: [(gelu(xp, o[0]), abs(o[0]))],
    "gelu_grad": lambda xp, a, o, _: [(o[1] * gelu_slope(xp, o[0]), 1.2 * abs(o[1]))],
    "silu": lambda xp, a, o, _: plain(o[0] * logistic(xp, a.get("alpha", 1.0) * o[0])),
    "split": lambda xp, a, o, results: [
        plain(o[0][..., begin:begin + result[0][-1]])[0] for begin, result in
        zip([sum(one[0][-1] for one in results[:k]) for k in range(len(results))], results)],
    "concat": lambda xp, a, o, _: plain(xp.concatenate(list(o), -1)),
    "sum_rows": lambda xp, a, o, _: sum_of(o[0], o[1:]),
    "silu_grad": silu_grad, "layer_norm": layer_norm, "rms_norm": rms_norm, "layer_norm_grad": layer_norm_grad,
    "rms_norm_grad": rms_norm_grad, "norm_weight_grad": norm_weight_grad, "rope": rope, "embedding_grad": embedding_grad,
    "positions_grad": positions_grad, "linear": linear, "linear_weight_grad": linear_weight_grad, "adamw": adamw,
    "loss_head": loss_head}


def is_known(key):
    return all(name in FORMULAS for name, _, _ in key.ops)


def compute(xp, key, yields, operands):
    """Returns (value, what it may err by) of each result. `yields`: of a group of ops, the numbers of its results."""
    values, magnitudes = list(operands), [None] * len(operands)
    slack = 0.0
    for name, reads, attributes in key.ops:
        if name not in FORMULAS:
            raise Unknown(name)
        is_last = len(key.ops) == 1
        found = FORMULAS[name](xp, attributes, [values[k] for k in reads], key.results if is_last else [])
        values += [value for value, _ in found]
        magnitudes += [magnitude for _, magnitude in found]
    if len(key.ops) > 1 and yields is None:
        raise Unknown("a group of ops whose results are not told apart")
    numbers = yields if len(key.ops) > 1 else range(len(operands), len(values))
    # What one op of a group hands to the next is rounded as if it were stored.
    rounding = ROUNDING.get(key.results[0][1], 2.0 ** -24)
    alike = [k for k in range(len(operands), len(values)) if values[k].shape == values[numbers[-1]].shape]
    if len(key.ops) > 1:
        slack = sum(rounding * abs(values[k]) for k in alike)

    def of_terms(number):
        """Returns the error of what is computed of a sum whose terms cancel: parts of the terms, as the sum itself has, however little is left."""
        return sum(OF_SUMS * magnitudes[k] for k in alike if k < number) + OF_SUMS * magnitudes[number]

    return [(values[number], len(key.ops) * ROUNDING.get(element, 0.0) * abs(values[number]) + of_terms(number) + slack)
            for number, (_, element) in zip(numbers, key.results)]
