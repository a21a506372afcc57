"""Sizes and times as people write them."""
import argparse

import pytest

from dunnage.bench.units import amount, duration, read_size


def test_sizes_are_read_as_settings_are():
    assert [read_size(text) for text in ("0", "65536", "64K", "64k", "64KiB", "1MiB", "2T")] == [
        0, 65536, 65536, 65536, 65536, 1 << 20, 2 << 40]
    for text in ("", "K", "-1", "1.5G", "1KB", "1 K", "1kIB"):
        with pytest.raises(argparse.ArgumentTypeError):
            read_size(text)


def test_amounts_and_durations_have_three_digits():
    assert [amount(number) for number in (0, 1000, 1500, 1 << 20, 10 ** 15)] == [
        "0 B", "1000 B", "1.46 KiB", "1 MiB", "909 TiB"]
    assert [duration(seconds) for seconds in (0, 1.234e-8, 999.9e-6, 0.5, 12345.6)] == [
        "0 s", "12.3 ns", "1000 us", "500 ms", "12346 s"]
