"""Number-theoretic transforms, polynomial arithmetic, encrypted numbers, key encapsulation and signatures, on CPUs and
GPUs.

>>> import pyringforge
>>> ring = pyringforge.Ring("17 : x^4 + 1")
>>> ring.mul([1, 2, 3, 4], [0, 1, 0, 0])
array([13, 1, 2, 3], dtype=object)
"""

from ._batches import Kem, KemSizes, MlDsa, MlDsaSizes, Sm2, kems
from ._bfv import Bfv, BfvCiphertext, BfvKeys, BfvSecretKey
from ._ckks import Ciphertext, Ckks, CkksKeys, CkksMatrix, CkksSecretKey, Polynomial
from ._engine import Engine, default_engine, pinned_empty
from ._errors import (
    ArgumentError,
    Error,
    ItemError,
    NoDeviceError,
    OutOfMemoryError,
    RingError,
    UnsupportedError,
)
from ._integers import convolve, mul_int
from ._keys import SavedKeys
from ._native import __version__
from ._ring import DeviceArray, Ring

__all__ = [
    "ArgumentError",
    "Bfv",
    "BfvCiphertext",
    "BfvKeys",
    "BfvSecretKey",
    "Ciphertext",
    "Ckks",
    "CkksKeys",
    "CkksMatrix",
    "CkksSecretKey",
    "DeviceArray",
    "Engine",
    "Error",
    "ItemError",
    "Kem",
    "KemSizes",
    "MlDsa",
    "MlDsaSizes",
    "NoDeviceError",
    "OutOfMemoryError",
    "Polynomial",
    "Ring",
    "RingError",
    "SavedKeys",
    "Sm2",
    "UnsupportedError",
    "__version__",
    "convolve",
    "default_engine",
    "kems",
    "mul_int",
    "pinned_empty",
]
