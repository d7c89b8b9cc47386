"""Reads handwritten digits that are encrypted: a network of 64, 64 and 10 neurons on scikit-learn's 8 x 8 images.

Trains the network on 80 % of the images, encrypts the others, evaluates it on ciphertexts, and compares accuracies. A
ciphertext has one image in each block of 64 slots."""

import argparse
import gzip
import time

import numpy as np

from pyringforge import Ckks, Engine, Polynomial

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--device", default="best", help="best, cpu or cuda")
parser.add_argument("--data", help="digits.csv.gz of scikit-learn, instead of that of the installed package")
parser.add_argument("--secure-bootstrap", action="store_true", help="bootstrap with N = 2^16, which takes 10 GB")
choice = parser.parse_args()
RNG = np.random.default_rng(1)
SIZE = 64


def digits():
    """Images with pixels in [0, 1], and their digits: those of training, then the others."""
    path = choice.data
    if path is None:
        from importlib.resources import files

        path = files("sklearn") / "datasets" / "data" / "digits.csv.gz"
    with gzip.open(path, "rt") as text:
        table = np.loadtxt(text, delimiter=",")
    table = RNG.permutation(table)
    images, labels, count = table[:, :64] / 16, table[:, 64].astype(int), len(table) * 4 // 5
    return images[:count], labels[:count], images[count:], labels[count:]


def trained(images, labels, activation, slope):
    """Weights and biases of both layers, by Adam on the cross-entropy."""
    layers = [RNG.normal(0, 0.1, (64, 64)), np.zeros(64), RNG.normal(0, 0.1, (10, 64)), np.zeros(10)]
    first, second = [np.zeros_like(x) for x in layers], [np.zeros_like(x) for x in layers]
    wanted = np.eye(10)[labels]
    for step in range(1, 1501):
        batch = RNG.integers(0, len(images), 128)
        x, (w1, b1, w2, b2) = images[batch], layers
        z = x @ w1.T + b1
        h = activation(z)
        out = h @ w2.T + b2
        error = np.exp(out - out.max(1, keepdims=True))
        error = (error / error.sum(1, keepdims=True) - wanted[batch]) / len(batch)
        back = (error @ w2) * slope(z)
        gradients = [back.T @ x + 1e-4 * w1, back.sum(0), error.T @ h + 1e-4 * w2, error.sum(0)]
        for layer, gradient, m, v in zip(layers, gradients, first, second):
            m += 0.1 * (gradient - m)
            v += 0.001 * (gradient**2 - v)
            layer -= 0.003 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return layers


def evaluate(name, ckks, level, layers, activation, encrypted, images, labels, bootstrap=None):
    """Evaluates the network on ciphertexts of this level, and prints how it went."""
    w1, b1, w2, b2 = layers
    in_block = ckks.slots // SIZE
    count = -(-len(images) // in_block)
    secret = ckks.secret_key()
    first = ckks.matrix(w1, level, blocks=True)
    later = level - 1 - encrypted[1] if bootstrap is None else ckks.levels - 8 - bootstrap[1]
    last = ckks.matrix(np.vstack([w2, np.zeros((54, 64))]), later, blocks=True)
    keys = ckks.keys(secret, [*first.rotations, *last.rotations], bootstrap=bootstrap)
    slots = np.zeros((count, in_block, SIZE))
    slots.reshape(-1, SIZE)[: len(images)] = images
    bias = [np.tile(np.pad(b, (0, SIZE - len(b))), in_block) for b in (b1, b2)]

    a = keys.encrypt(slots.reshape(count, -1), level=level)

    def network():
        h = encrypted[0](a.apply(first) + bias[0])
        return (h if bootstrap is None else h.bootstrap(real=True)).apply(last) + bias[1]

    secret.decrypt(network())  # compiles the programs
    start = time.perf_counter()
    result = network()
    found = secret.decrypt(result)
    seconds = time.perf_counter() - start
    found = found.real.reshape(-1, SIZE)[: len(images), :10]
    plain = activation(images @ w1.T + b1) @ w2.T + b2
    right = [np.mean(out.argmax(1) == labels) for out in (plain, found)]
    print(
        f"{name}: accuracy {right[0]:.1%} in the clear, {right[1]:.1%} encrypted; largest difference of an output "
        f"{np.abs(found - plain).max():.1e}; {len(images)} images in {count} ciphertexts, {seconds:.3f} s with decryption, "
        f"{len(a.save()) / 1e6:.1f} MB up and {len(result.save()) / 1e6:.1f} MB down"
    )
    assert abs(right[0] - right[1]) <= 0.005 and right[1] > 0.9, right


images, labels, others, wanted = digits()
engine = Engine(choice.device)
print(f"on {engine.device}")


def square(x):
    return x * x


squares = trained(images, labels, square, lambda z: 2 * z)
ckks = Ckks(13, [50, 38, 38, 38], [50], engine=engine)
evaluate("squares", ckks, 3, squares, square, (square, 1), others, wanted)

tangents = trained(images, labels, np.tanh, lambda z: 1 - np.tanh(z) ** 2)
widest = 1.1 * np.abs(images @ tangents[0].T + tangents[1]).max()
curve = Polynomial.interpolate(np.tanh, (-widest, widest), 15)
ckks = Ckks(14, [50, *[40] * 7], [50, 50], engine=engine)
evaluate(
    "tanh, as a Chebyshev polynomial", ckks, ckks.levels, tangents, np.vectorize(curve),
    (lambda x: x.evaluate(curve), curve.levels), others, wanted,
)  # fmt: skip

# bootstrapping takes numbers of at most 1: the hidden neurons are made smaller, and the last layer larger
largest = 1.1 * square(images @ squares[0].T + squares[1]).max()
smaller = [squares[0] / np.sqrt(largest), squares[1] / np.sqrt(largest), squares[2] * largest, squares[3]]
secure = choice.secure_bootstrap
q_bits = [60, *[40] * (15 if secure else 6), *[60] * 8, *[57] * 4]
ckks = Ckks(16 if secure else 11, q_bits, [61] * 6, scale=2.0**40, engine=engine, insecure=not secure)
name = f"squares, bootstrapped{'' if secure else ', in a ring too small to be secure'}"
evaluate(name, ckks, 5, smaller, square, (square, 1), others, wanted, bootstrap=(3, 4))
