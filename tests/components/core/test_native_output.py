"""What native code writes past Python is dropped, unless an exception ends it."""

from __future__ import annotations

import os
import sys

import pytest

from towpath.components.core import native_output


def test_native_chatter_is_dropped_and_what_comes_before_and_after_is_not(capfd: pytest.CaptureFixture[str]) -> None:
    print("before")
    with native_output.suppressed():
        os.write(1, b"kernels\n")
        os.write(2, b"more kernels\n")
    print("after", file=sys.stderr)
    os.write(1, b"native after\n")
    assert capfd.readouterr() == ("before\nnative after\n", "after\n")


def test_chatter_is_shown_on_stderr_when_an_exception_ends_it(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        os.write(1, b"the reason\n")
        os.write(2, b"and more\n")
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"), native_output.suppressed():
        fail()
    os.write(1, b"native after\n")
    assert capfd.readouterr() == ("native after\n", "the reason\nand more\n")


def test_no_descriptor_is_left_open(capfd: pytest.CaptureFixture[str]) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the descriptor that lists them counts alike

    if not os.path.isdir("/proc/self/fd"):  # noqa: PTH112
        pytest.skip("counting descriptors needs /proc")
    before = descriptors()
    for _ in range(3):
        with native_output.suppressed():
            pass
        with pytest.raises(KeyError), native_output.suppressed():
            raise KeyError
    assert descriptors() == before


def test_one_inside_another_gives_the_terminal_back(capfd: pytest.CaptureFixture[str]) -> None:
    with native_output.suppressed():
        with native_output.suppressed():
            os.write(1, b"inner\n")
        os.write(1, b"outer\n")
    os.write(1, b"free\n")
    assert capfd.readouterr().out == "free\n"
