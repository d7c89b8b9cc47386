"""Compares the times of ringforge-ckks and OpenFHE on one thread of this CPU, at the same parameters.

    python3.10 -m venv /tmp/peers && /tmp/peers/bin/pip install openfhe==1.6.1.0.22.4
    /tmp/peers/bin/python schemes/ckks/tests/peers/times.py

This wheel of OpenFHE has modules for Python 3.10 only. The script is not part of the tests. It prints a table, and
fails if OpenFHE is faster in a line by more than 3 %, which is the noise of a run.
"""

import math
import os
import statistics
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = "1"
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

from openfhe_scheme import scheme_of

LOG_N, Q, P = 14, [60] + [40] * 5, [60]
SIZE = 64


def ours():
    """Runs example 08-times of this crate. Returns milliseconds by operation."""
    command = ["cargo", "run", "--release", "--quiet", "-p", "ringforge-ckks", "--example", "08-times", "--"]
    command += [str(LOG_N), ",".join(map(str, Q)), ",".join(map(str, P))]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[0]: float(line.split()[1]) for line in lines}


def timed(run):
    """Returns the median time of nine runs in milliseconds, and the last result."""
    run()
    times = []
    for _ in range(9):
        start = time.perf_counter()
        result = run()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times), result


def entry(i):
    return (i * 37 % 101) / 101 - 0.5


def layer(rows, columns, seed):
    return [[entry(seed + i * columns + j) / 8 if i < rows and j < columns else 0.0 for j in range(SIZE)] for i in range(SIZE)]


def theirs():
    slots, scheme = 1 << (LOG_N - 1), scheme_of(LOG_N, Q, P)
    keys = scheme.KeyGen()
    scheme.EvalMultKeyGen(keys.secretKey)
    # baby steps and giant steps as in `LinearMap`, but hoisted once
    babies = math.isqrt(2 * SIZE)
    steps = sorted(set(range(1, babies)) | set(range(babies, SIZE, babies)))
    scheme.EvalRotateKeyGen(keys.secretKey, steps)

    def matrix(rows, level):
        """Diagonals by giant step, encoded, with baby steps."""
        giants = []
        for giant in range(0, SIZE, babies):
            diagonals = []
            for baby in range(min(babies, SIZE - giant)):
                period = [rows[(slot - giant) % SIZE][(slot + baby) % SIZE] for slot in range(SIZE)]
                if any(period):
                    plain = scheme.MakeCKKSPackedPlaintext(period * (slots // SIZE), 1, level)
                    diagonals.append((baby, plain))
            giants.append((giant, diagonals))
        return giants

    def times_matrix(giants, c):
        precomputed = scheme.EvalFastRotationPrecompute(c)
        order = scheme.GetCyclotomicOrder()
        rotated = [c] + [scheme.EvalFastRotation(c, baby, order, precomputed) for baby in range(1, babies)]
        total = None
        for giant, diagonals in giants:
            part = None
            for baby, plain in diagonals:
                term = scheme.EvalMult(rotated[baby], plain)
                part = term if part is None else scheme.EvalAdd(part, term)
            if part is not None:
                part = scheme.EvalRotate(part, giant) if giant else part
                total = part if total is None else scheme.EvalAdd(total, part)
        return total

    first, second = layer(32, SIZE, 1), layer(10, 32, 2)
    w1, w2 = matrix(first, 0), matrix(second, 2)
    numbers = [entry(i % SIZE) for i in range(slots)]
    found = {}
    found["encode"], plain = timed(lambda: scheme.MakeCKKSPackedPlaintext(numbers))
    found["encrypt"], a = timed(lambda: scheme.Encrypt(keys.publicKey, plain))
    found["decrypt"], _ = timed(lambda: scheme.Decrypt(a, keys.secretKey))
    found["add"], _ = timed(lambda: scheme.EvalAdd(a, a))
    found["add-number"], _ = timed(lambda: scheme.EvalAdd(a, 0.5))
    found["multiply-rescale"], _ = timed(lambda: scheme.Rescale(scheme.EvalMult(a, a)))
    found["rotate"], _ = timed(lambda: scheme.EvalRotate(a, 1))

    found["rotation-key"] = rotation_key(scheme, keys)

    def network():
        hidden = scheme.Rescale(times_matrix(w1, a))
        squared = scheme.Rescale(scheme.EvalSquare(hidden))
        return scheme.Rescale(times_matrix(w2, squared))

    found["network"], result = timed(network)
    plain = scheme.Decrypt(result, keys.secretKey)
    plain.SetLength(SIZE)
    x = [sum(a * b for a, b in zip(row, numbers)) ** 2 for row in first]
    wanted = [sum(a * b for a, b in zip(row, x)) for row in second]
    wrong = max(abs(a - b) for a, b in zip(wanted, plain.GetCKKSPackedValue()))
    assert wrong < 1e-5, f"the network is wrong by {wrong}"
    return found


def rotation_key(scheme, keys):
    """The time of one rotation key, in milliseconds. Each run makes a key for steps that have none yet."""
    times = []
    for step in range(1001, 1010):
        start = time.perf_counter()
        scheme.EvalRotateKeyGen(keys.secretKey, [step])
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main():
    peer, own = theirs(), ours()
    print("| operation | ringforge, ms | OpenFHE, ms | ratio |\n| --- | --- | --- | --- |")
    for name in own:
        print(f"| {name} | {own[name]:.2f} | {peer[name]:.2f} | {peer[name] / own[name]:.2f} |")
    return any(own[name] > 1.03 * peer[name] for name in own)


if __name__ == "__main__":
    sys.exit(main())
