"""Files that are whole or not there, and one writer at a time."""

import errno
import os
import socket
from pathlib import Path
from typing import Any

STATE = ".snaper"  # the folder of what is not Zarr's
_NEW = f"{STATE}/new"
_LOCK = f"{STATE}/lock"
_REMEDIES = {
    errno.ENOSPC: "free some space, and go on with snaper.resume",
    errno.EDQUOT: "free some space, and go on with snaper.resume",
    errno.EFBIG: "raise the limit on file sizes, and go on with snaper.resume",
    errno.EIO: "check the disk, and go on with snaper.resume",
}


class StoreError(RuntimeError):
    """A store that cannot be written or read.

    Attributes:
        run: where writing failed in the middle of a run, all that was drawn until then.
    """

    run: Any = None


def folder(path: Any) -> Path:
    """A store's, as users write it."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise TypeError(f"A store must be the path of a folder, not {path!r}.")
    if not text or "://" in text or "\0" in text:
        raise ValueError(f"A store must be a folder of this machine, not {text!r}: give its path.")
    return Path(os.path.expanduser(text)).absolute()


def write(root: Path, name: str, data: bytes) -> None:
    """All of the data under this name and on disk, or else what was there before."""
    path, new = root / name, root / _NEW
    try:
        _make(path.parent)
        with open(new, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
        _sync(path.parent)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise cannot("write", path, error) from error


def read(root: Path, name: str) -> bytes:
    path = root / name
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise StoreError(f"{path} is missing: restore the store from a copy.") from None
    except OSError as error:
        raise cannot("read", path, error) from error


def damaged(path: Path) -> StoreError:
    return StoreError(
        f"{path} is damaged, its contents are not what was written: restore the store from a copy."
    )


def cannot(what: str, path: Path, error: OSError) -> StoreError:
    """What could not be done, why, and the remedy."""
    remedy = _REMEDIES.get(error.errno or 0, "make it accessible, or give another path")
    return StoreError(f"Cannot {what} {path} ({error.strerror}): {remedy}.")


class Lock:
    """The right to write a store: the system takes it back from a process that dies."""

    def __init__(self, root: Path):
        import fcntl  # which Windows has not

        path = root / _LOCK
        try:
            _make(path.parent)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise cannot("write", path, error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._file, 0)
            os.write(self._file, f"process {os.getpid()} on {socket.gethostname()}".encode())
        except BlockingIOError:
            holder = os.read(self._file, 200).decode(errors="replace") or "another process"
            self.release()
            raise StoreError(
                f"{root} is being written by {holder}: wait until it has ended, or give another "
                "path."
            ) from None
        except OSError as error:
            self.release()
            raise cannot("lock", path, error) from error

    def release(self) -> None:
        os.close(self._file)


def _make(folder: Path) -> None:
    """A folder that is there after a crash, too."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync(folder.parent)


def _sync(folder: Path) -> None:
    """Its entries, on disk; some network file systems cannot be asked to."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)
