"""OpenFHE's CKKS with the parameters of a scheme of this crate."""

import openfhe


def scheme_of(log_n, q, p):
    """A context with degree 2^log_n and primes of Q of these bits. It has as many digits as this crate has for these
    primes of P, and chooses its own P."""
    parameters = openfhe.CCParamsCKKSRNS()
    parameters.SetSecurityLevel(openfhe.HEStd_NotSet)
    parameters.SetRingDim(1 << log_n)
    parameters.SetBatchSize(1 << (log_n - 1))
    parameters.SetScalingTechnique(openfhe.FIXEDMANUAL)
    parameters.SetKeySwitchTechnique(openfhe.HYBRID)
    parameters.SetNumLargeDigits(-(-len(q) // len(p)))
    parameters.SetFirstModSize(q[0])
    parameters.SetScalingModSize(q[1])
    parameters.SetMultiplicativeDepth(len(q) - 1)
    # For real numbers, OpenFHE estimates the noise from the imaginary parts, and adds as much noise again.
    parameters.SetCKKSDataType(openfhe.COMPLEX)
    scheme = openfhe.GenCryptoContext(parameters)
    for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE):
        scheme.Enable(feature)
    return scheme
