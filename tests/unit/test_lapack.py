"""Threads of LAPACK are set for a while only."""

import pytest

from snaper import lapack


@pytest.mark.parametrize("package", ["numpy", "scipy"])
def test_one_thread_and_then_as_many_as_before(package):
    found = [*lapack._of(package)]
    if not found:
        pytest.skip("another LAPACK is here")
    get, put = found[0]
    first = get()
    try:
        put(2)
        with lapack.one_thread():
            assert get() == 1
        assert get() == 2
        with pytest.raises(ZeroDivisionError), lapack.one_thread():
            raise ZeroDivisionError
        assert get() == 2
    finally:
        put(first)


def test_every_library_is_put_back(monkeypatch):
    threads = {"one": 3, "other": 5}

    def of(name):
        return lapack.Threads(lambda: threads[name], lambda number: threads.update({name: number}))

    monkeypatch.setattr(lapack, "_libraries", lambda: (of("one"), of("other")))
    with lapack.one_thread():
        assert threads == {"one": 1, "other": 1}
    assert threads == {"one": 3, "other": 5}


def test_without_such_a_library_nothing_is_done(monkeypatch):
    monkeypatch.setattr(lapack, "_libraries", lambda: ())
    with lapack.one_thread():
        pass
