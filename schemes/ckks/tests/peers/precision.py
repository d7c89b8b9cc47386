"""Compares ringforge-ckks with OpenFHE and TenSEAL in precision and noise. All have the same degree N, depth
and dnum (number of key-switching digits).

    python3.10 -m venv /tmp/peers && /tmp/peers/bin/pip install openfhe==1.6.1.0.22.4 tenseal==0.3.16
    /tmp/peers/bin/python schemes/ckks/tests/peers/precision.py

This wheel of OpenFHE has modules for Python 3.10 only. The script is not part of the tests: it prints a table for the
crate's README. It fails if this crate has over twice OpenFHE's noise, or over one bit less precision.
"""

import math
import os
import random
import re
import subprocess
import tempfile

import openfhe
import tenseal
from openfhe_scheme import scheme_of

# Each entry: log2 N, bits of the primes of Q, bits of the primes of P. A digit has as many primes as P. OpenFHE chooses
# its own P, of 60-bit primes.
OPENFHE = [
    (14, [60] + [50] * 5, [60] * 2),
    (14, [60] + [59] * 5, [61] * 2),
    (15, [60] + [40] * 15, [60] * 4),
]
# Entries as in OPENFHE. TenSEAL has one prime in P, and one digit per prime of Q.
TENSEAL = [(14, [60] + [40] * 5, [60]), (13, [60] + [40] * 2, [60])]

# Rotation steps, as in example 07-precision. Each rotation has its own key; the noise is averaged over all rotations.
ROTATIONS = list(range(1, 17))


def ours(log_n, q, p):
    """Runs example 07-precision of this crate. Returns its figures as a dictionary of lists of numbers."""
    command = ["cargo", "run", "--release", "--quiet", "-p", "ringforge-ckks", "--example", "07-precision", "--"]
    command += [str(log_n), ",".join(map(str, q)), ",".join(map(str, p))]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[0]: [float(x) for x in line.split()[1:]] for line in lines}


def numbers(count):
    return [random.choice([-1, 1]) * random.uniform(0.9, 1) for _ in range(count)]


def precision(found, wanted):
    """Returns the bits of precision of the real parts: by root mean square error, and by largest error."""
    errors = [abs(x.real - y) for x, y in zip(found, wanted)]
    return [-math.log2(math.sqrt(sum(e * e for e in errors) / len(errors))), -math.log2(max(errors))]


def variance(found, wanted, scale):
    """Variance of a noise coefficient, from the errors in the slots."""
    square = sum(abs(x - y) ** 2 for x, y in zip(found, wanted)) / len(found)
    return scale**2 * square / (2 * len(found))


def special_bits(limbs):
    """Returns log2 of OpenFHE's P. Only a serialised key holds all moduli; the `limbs` primes of Q come first."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "key.json")
        openfhe.CryptoContext.SerializeEvalMultKey(path, openfhe.JSON, "")
        with open(path) as file:
            text = file.read()
    found = re.finditer(r'"cm":\s*{(?:\s*"cereal_class_version":\s*\d+,)?\s*"v":\s*(\d+)', text)
    moduli = list(dict.fromkeys(int(match[1]) for match in found))
    return sum(math.log2(p) for p in moduli[limbs:])


def with_openfhe(log_n, q, p):
    slots, scheme = 1 << (log_n - 1), scheme_of(log_n, q, p)
    keys = scheme.KeyGen()
    openfhe.ClearEvalMultKeys()
    scheme.EvalMultKeyGen(keys.secretKey)
    scheme.EvalRotateKeyGen(keys.secretKey, ROTATIONS)

    def decrypt(c):
        plain = scheme.Decrypt(c, keys.secretKey)
        plain.SetLength(slots)
        return plain.GetCKKSPackedValue()

    scale, figures = 2.0 ** q[1], {"P": [special_bits(len(q))]}
    x = numbers(slots)
    c = scheme.Encrypt(keys.publicKey, scheme.MakeCKKSPackedPlaintext(x))
    fresh = decrypt(c)
    figures["encryption"] = [math.sqrt(variance(fresh, x, scale))]
    figures["fresh"] = precision(fresh, x)
    added = [variance(decrypt(scheme.EvalRotate(c, by)), fresh[by:] + fresh[:by], scale) for by in ROTATIONS]
    figures["rotation"] = [math.sqrt(sum(added) / len(added))]
    for level in range(1, len(q)):
        c = scheme.Rescale(scheme.EvalMult(c, c))
        x = [a * a for a in x]
        if level == 1:
            figures["square"] = precision(decrypt(c), x)
    figures["squares"] = precision(decrypt(c), x)
    return figures


def with_tenseal(log_n, q, p):
    context = tenseal.context(tenseal.SCHEME_TYPE.CKKS, 1 << log_n, coeff_mod_bit_sizes=q + p)
    context.global_scale = 2.0 ** q[1]
    x, figures = numbers(1 << (log_n - 1)), {}
    c = tenseal.ckks_vector(context, x)
    figures["fresh"] = precision(c.decrypt(), x)
    for level in range(1, len(q)):
        c = c * c  # includes relinearisation and rescaling
        x = [a * a for a in x]
        if level == 1:
            figures["square"] = precision(c.decrypt(), x)
    figures["squares"] = precision(c.decrypt(), x)
    return figures


def bits(q):
    """Formats a list of bit lengths of primes, for example as 60 + 5 × 50."""
    runs = []
    for size in q:
        if runs and runs[-1][1] == size:
            runs[-1][0] += 1
        else:
            runs.append([1, size])
    return " + ".join(f"{count} × {size}" if count > 1 else str(size) for count, size in runs)


def main():
    print("| N; Q; P; dnum | | encryption: noise | rotation adds | times P / D | fresh, bits | a square | squares to level 0 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    good = True
    for sets, name, peer in [(OPENFHE, "OpenFHE", with_openfhe), (TENSEAL, "TenSEAL", with_tenseal)]:
        for log_n, q, p in sets:
            digits = [sum(q[i : i + len(p)]) for i in range(0, len(q), len(p))]
            mine, other = ours(log_n, q, p), peer(log_n, q, p)
            for who, figures in (("ringforge-ckks", mine), (name, other)):
                [special] = figures.get("P", [sum(p)])
                row = [f"2^{log_n}; {bits(q)}; {special:.0f} bits; {len(digits)}", who, "", "", ""]
                if "rotation" in figures:
                    [fresh], [added] = figures["encryption"], figures["rotation"]
                    row[2:] = [f"{fresh:.0f}", f"{added:.0f}", f"2^{math.log2(added) + special - max(digits):.1f}"]
                row += ["{:.1f} ({:.1f})".format(*figures[what]) for what in ("fresh", "square", "squares")]
                print("|", " | ".join(row), "|")
            if peer is with_openfhe:
                good &= all(mine[what][0] > other[what][0] - 1 for what in ("fresh", "square", "squares"))
                good &= all(mine[what][0] < 2 * other[what][0] for what in ("encryption", "rotation"))
    raise SystemExit(0 if good else "ringforge-ckks has more noise or less precision than OpenFHE")


main()
