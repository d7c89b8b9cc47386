"""Keys of homomorphic schemes as bytes."""

from typing import NamedTuple


class SavedKeys(NamedTuple):
    """The bytes of a public key, of a relinearisation key and of rotation keys."""

    public: bytes
    relinearisation: bytes
    rotations: bytes
