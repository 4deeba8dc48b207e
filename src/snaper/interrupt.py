"""Ctrl-C as a request: the first is honoured between stretches, the second at once."""

import signal
import threading


class Interrupt:
    """While active, SIGINT sets `requested` instead of raising; a second one raises as usual."""

    def __init__(self):
        self.requested = False
        self._previous = None

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _note(self, *_) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
