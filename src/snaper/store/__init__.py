"""A run on disk: Zarr arrays for everyone to read, and a checkpoint to go on from.

What is written is on disk before it counts, and it counts from the moment at which one file, the
checkpoint, takes the place of the one before. Draws appended after that are as if not there.
"""

from .files import StoreError

__all__ = ["StoreError"]
