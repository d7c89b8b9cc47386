"""Times products in a ring and batches of key exchanges, from ordinary and from pinned memory."""

import argparse
import time

import numpy as np

import pyringforge

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--batch", type=int, default=10_000)
batch = parser.parse_args().batch


def seconds(work, repeats=5):
    work()  # compiles the programs
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def rates(memory, empty):
    a, b, product = (empty((batch, ring.degree), ring.dtype) for _ in range(3))
    a[:], b[:] = np.random.default_rng(1).integers(0, 3457, (2, batch, ring.degree), dtype=ring.dtype)
    keys = (empty((batch, kem.sizes.public_key), "u1"), empty((batch, kem.sizes.secret_key), "u1"))
    sent = (empty((batch, kem.sizes.ciphertext), "u1"), empty((batch, kem.sizes.shared_key), "u1"))
    received = empty((batch, kem.sizes.shared_key), "u1")
    for name, work in [
        ("products", lambda: ring.mul(a, b, out=product)),
        ("key pairs", lambda: kem.generate(batch, out=keys)),
        ("encapsulations", lambda: kem.encapsulate(keys[0], out=sent)),
        ("decapsulations", lambda: kem.decapsulate(keys[1], sent[0], out=received)),
    ]:
        print(f"{memory} memory: {1e-6 * batch / seconds(work):.3f} M {name} a second")
    assert (received == sent[1]).all(), "the two ends have different keys"


ring, kem = pyringforge.Ring("3457 : x^768 - x^384 + 1"), pyringforge.Kem("CTRU-768")
print(f"{ring.engine.device}, batches of {batch}")
rates("plain", np.empty)
rates("pinned", pyringforge.pinned_empty)
