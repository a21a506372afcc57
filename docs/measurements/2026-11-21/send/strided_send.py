#!/usr/bin/env python3
"""Draws the figure of the README, strided_send.svg, from strided_send.csv. Needs matplotlib."""
import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

HERE = Path(__file__).parent
PAYLOAD = "4194304"
# Column of the table, name in the legend, marker, fill. Shapes differ, so the figure needs no
# colour.
SERIES = [
    ("contiguous, plain MPI, us", "contiguous data, plain MPI", "|", "black"),
    ("vector type, Dunnage, us", "strided data, with Dunnage", "o", "black"),
    ("vector type, plain MPI, us", "strided data, plain MPI", "s", "white"),
]

with (HERE / "strided_send.csv").open() as file:
    rows = [row for row in csv.DictReader(file) if row["bytes"] == PAYLOAD]

plt.rcParams.update({"svg.hashsalt": "dunnage", "font.size": 10})
figure, axes = plt.subplots(figsize=(8, 3.1))
for height, row in enumerate(reversed(rows)):
    times = [float(row[column]) for column, *_ in SERIES]
    axes.plot([min(times), max(times)], [height, height], color="0.75", linewidth=1, zorder=1)
    plain = float(row["vector type, plain MPI, us"])
    gain = plain / float(row["vector type, Dunnage, us"])
    axes.annotate(f"Dunnage is {gain:.1f} times faster", (plain, height), xytext=(9, -3.5), textcoords="offset points")
for column, name, marker, fill in SERIES:
    axes.scatter([float(row[column]) for row in reversed(rows)], range(len(rows)), label=name, marker=marker,
                 s=150 if marker == "|" else 48, color=fill, linewidth=1.3, zorder=2,
                 **({} if marker == "|" else {"edgecolor": "black"}))
axes.set_yticks(range(len(rows)), [row["mpi"] for row in reversed(rows)])
axes.set_xscale("log")
axes.set_xlim(180, 70000)
ticks = [200, 500, 1000, 2000, 5000, 10000, 20000]
axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
axes.minorticks_off()
axes.set_xlabel("microseconds for one message of 4 MiB (logarithmic; left is better)")
axes.grid(axis="x", color="0.9")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(loc="lower center", bbox_to_anchor=(0.42, 1), ncols=3, frameon=False, fontsize=9, handletextpad=0.3)
figure.savefig(HERE / "strided_send.svg", bbox_inches="tight", metadata={"Date": None})
