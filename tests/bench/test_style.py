"""The look of the plots: ticks, groups, and series that stay apart without colour."""

import re
from pathlib import Path

import pytest

from dunnage.bench import style
from dunnage.bench.lines import line_plot
from dunnage.bench.style import pyplot

BENCH = Path(style.__file__).parent


def luminance(colour):
    """The relative luminance of WCAG 2, which is what greyscale leaves of a colour."""
    parts = [int(colour[place:place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear))


def test_series_stay_apart_without_colour():
    names = [f"series {i}" for i in range(style.MOST)]
    looks = [style.look(name, names) for name in names]
    assert len({look["marker"] for look in looks}) == len({look["color"] for look in looks}) == style.MOST
    plain, dunnage = style.look("plain", []), style.look("dunnage", [])
    assert abs(luminance(plain["color"]) - luminance(dunnage["color"])) > 0.2
    css = (BENCH.parent / "report" / "page.css").read_text()
    assert f"--ours: {style.BLUE}" in css and f"--mpi: {style.ORANGE}" in css, "pages and plots have one look"


@pytest.mark.parametrize("values, labels", [
    ([1, 1024, 1 << 20], ["1 B", "8 B", "64 B", "512 B", "4 KiB", "32 KiB", "256 KiB"]),
    ([64, 128, 256], ["64 B", "128 B", "256 B"]),
    ([12288, 524287], ["16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB"]),
    ([], None),
])
def test_axes_of_bytes_have_ticks_in_kib(values, labels):
    figure, axis = pyplot.subplots()
    style.bytes_axis(axis, values)
    if labels:
        assert [label.get_text() for label in axis.get_xticklabels()] == labels
    pyplot.close(figure)


def test_groups_are_even():
    assert [len(group) for group in style.groups(list(range(7)))] == [4, 3]
    assert style.groups([]) == [[]]
    assert max(map(len, style.groups(list(range(25))))) <= style.MOST


def test_a_plot_says_what_is_better(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(style.Figure, "suptitle", lambda self, text: drawn.append((text, len(self.axes))))
    curves = {(mpi, f"series {i}"): [(64, 1.5), (4096, 2)] for mpi in ("mpich", "openmpi") for i in range(7)}
    line_plot(curves, "Title", "payload", "ratio", tmp_path / "plot.png", 1, style.FASTER, in_bytes=True)
    assert drawn == [(f"Title\n{style.FASTER}", 4)], "two MPIs, and two groups of series"
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_colours_stand_in_one_file():
    """No other file has colours of its own, nor saves a figure by itself."""
    for file in BENCH.rglob("*.py"):
        if file.name != "style.py":
            assert not re.search(r"tab:|#[0-9a-f]{6}|\"C\d|f\"C\{|savefig|get_cmap", file.read_text()), file
