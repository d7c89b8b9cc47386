"""Compares the times of BFV in ringforge-bfv, OpenFHE and SEAL (by TenSEAL) on one thread of this CPU. The degree and the
plaintext modulus are the same, and the lengths of Q are close.

    python3.10 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy openfhe==1.6.1.0.22.4 tenseal==0.3.16
    PYTHONPATH=where pyringforge is /tmp/peers/bin/python schemes/bfv/tests/peers/times.py

This wheel of OpenFHE has modules for Python 3.10 only. The script is not part of the tests. It prints a table; all results
are decrypted and compared.
"""

import os
import statistics
import time

os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = "1"
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np
import openfhe
import tenseal

import pyringforge

LOG_N, T, DEPTH = 14, 65537, 7
X, Y = np.random.default_rng(1).integers(-100, 100, (2, 1 << LOG_N))


def timed(run):
    """The median time of nine runs in milliseconds, and the last result."""
    run()
    times = []
    for _ in range(9):
        start = time.perf_counter()
        result = run()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times), result


def of_openfhe():
    parameters = openfhe.CCParamsBFVRNS()
    parameters.SetPlaintextModulus(T)
    parameters.SetMultiplicativeDepth(DEPTH)
    parameters.SetSecurityLevel(openfhe.HEStd_NotSet)
    parameters.SetRingDim(1 << LOG_N)
    parameters.SetKeySwitchTechnique(openfhe.HYBRID)
    scheme = openfhe.GenCryptoContext(parameters)
    for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE):
        scheme.Enable(feature)
    keys = scheme.KeyGen()
    scheme.EvalMultKeyGen(keys.secretKey)
    scheme.EvalRotateKeyGen(keys.secretKey, [1])
    found = {"bits of Q": float(np.log2(float(scheme.GetModulus())))}
    plain = scheme.MakePackedPlaintext(X.tolist())
    found["encrypt"], a = timed(lambda: scheme.Encrypt(keys.publicKey, scheme.MakePackedPlaintext(X.tolist())))
    b = scheme.Encrypt(keys.publicKey, scheme.MakePackedPlaintext(Y.tolist()))
    found["add"], _ = timed(lambda: scheme.EvalAdd(a, b))
    found["multiply plain"], _ = timed(lambda: scheme.EvalMult(a, plain))
    found["multiply, relinearise"], product = timed(lambda: scheme.EvalMult(a, b))
    found["rotate"], _ = timed(lambda: scheme.EvalRotate(a, 1))
    found["decrypt"], result = timed(lambda: scheme.Decrypt(product, keys.secretKey))
    result.SetLength(1 << LOG_N)
    assert result.GetPackedValue() == (X * Y).tolist()
    return found


def of_seal(bits):
    context = tenseal.context(tenseal.SCHEME_TYPE.BFV, 1 << LOG_N, T, coeff_mod_bit_sizes=[*bits, 60], n_threads=1)
    found = {"bits of Q": float(sum(bits))}
    found["encrypt"], a = timed(lambda: tenseal.bfv_vector(context, X.tolist()))
    b = tenseal.bfv_vector(context, Y.tolist())
    found["add"], _ = timed(lambda: a + b)
    found["multiply plain"], _ = timed(lambda: a * X.tolist())
    found["multiply, relinearise"], product = timed(lambda: a * b)
    found["decrypt"], result = timed(product.decrypt)
    assert result == (X * Y).tolist()
    return found


def of_ringforge(bits):
    scheme = pyringforge.Bfv(LOG_N, T, bits, [50, 50], engine=pyringforge.Engine("cpu"))
    secret = scheme.secret_key()
    keys = scheme.keys(secret, [1])
    found = {"bits of Q": float(sum(bits))}
    found["encrypt"], a = timed(lambda: keys.encrypt(X))
    b = keys.encrypt(Y)
    found["add"], _ = timed(lambda: a + b)
    found["multiply plain"], _ = timed(lambda: a * X)
    found["multiply, relinearise"], product = timed(lambda: a * b)
    found["rotate"], _ = timed(lambda: a.rotate_rows(1))
    found["decrypt"], result = timed(lambda: secret.decrypt(product, signed=True))
    assert (result == X * Y).all()
    return found


peer = of_openfhe()
primes = -(-int(peer["bits of Q"]) // 50)
own, seal = of_ringforge([50] * primes), of_seal([50] * primes)
print("| operation | ringforge, ms | OpenFHE, ms | SEAL, ms |\n| --- | --- | --- | --- |")
for name in own:
    print(f"| {name} | {own[name]:.2f} | {peer[name]:.2f} | {seal.get(name, float('nan')):.2f} |")
