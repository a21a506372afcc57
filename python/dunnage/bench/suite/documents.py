"""Figures of the five documents that the experiments repeat, to stand beside ours.

Each figure has its machine, because the documents were measured on other hardware. Ratios compare
better than times.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List

from ..higrad.document import MACHINES


@dataclass(frozen=True)
class Claim:
    """A figure of a document, and where our figure of the same kind is."""

    what: str
    value: str
    where: str  # the machine and the MPI of the document
    # Regular expressions: which experiments have our figure, and by what name, with which pattern.
    experiment: str = ""
    figure: str = ""
    pattern: str = ""
    ours: str = ""  # what our figure is, if it is not of the same kind exactly


@dataclass(frozen=True)
class Document:
    """A document, the experiments that repeat it, and its figures."""

    title: str
    source: str
    experiments: List[str]
    claims: List[Claim] = field(default_factory=list)
    note: str = ""


_GTX = "GTX 1070, CUDA 11.1"
_K20 = "two nodes with a K20, InfiniBand FDR, MVAPICH2 1.9b"
_HORNET = "Cray XC40, 24 cores a node, Cray MPI"

DOCUMENTS = [
    Document(
        "Improving MPI_Pack performance in CUDA-aware MPI", "blog post, 2020-06-10", ["pack_device"],
        [Claim("MPI_Pack over one kernel, strided data", "100 to 10,000 times", f"{_GTX}, Open MPI 4.0.5",
               "pack_device", r"geometric mean, plain/Dunnage", ours="plain MPI over Dunnage"),
         Claim("MPI_Pack over one kernel, strided data", "30 to 3,000 times", f"{_GTX}, MVAPICH 2.3.4",
               "pack_device", r"geometric mean, plain/Dunnage", ours="plain MPI over Dunnage"),
         Claim("the document's kernel", "1", _GTX, "pack_device", r"geometric mean, document/Dunnage",
               ours="the document's kernel over Dunnage")]),
    Document(
        "GPU Point-to-Point Communication: evaluation using Higrad",
        "P. V. Bangalore; D. Schafer and P. Bridges; slides", ["higrad_device", "higrad_host", "halo_device",
                                                             "halo_host", "unexpected_device", "unexpected_host"],
        [Claim("exchange, derived datatypes over packing kernels",
               f"{machine.communication[1] / machine.communication[2]:.0f} times", f"{machine.name}, Open MPI 3.1.5",
               r"higrad_\w+", r"exchange, option 1 over option 2, (plain|Dunnage)") for machine in MACHINES],
        note="The slides have pictures, and no numbers, for exchanges of ghost cells and for late receivers."),
    Document(
        "Performance of MPI sends of non-contiguous data", "V. Eijkhout; report", ["noncontiguous_send",
                                                                                  "noncontiguous_send_two_hosts"],
        [Claim("non-contiguous over contiguous send", "3 times at least", "nodes of four clusters, one rank on a node",
               r"noncontiguous_send\w*", r"strided sender: worst slowdown from .*, (plain|dunnage)")]),
    Document(
        "CUDA-aware MPI: le cocktail détonnant", "HPC Today, 2013-07-11", ["cuda_aware"],
        [Claim("latency of 1 byte, device to device", "18 us", f"{_K20}, GPUDirect", "cuda_aware",
               r"half a round trip, 8 bytes, us", ours="8 bytes"),
         Claim("latency of 1 byte, device to device through host memory", "19 us", _K20),
         Claim("latency of 1 byte, host to host", "1 us", _K20),
         Claim("bandwidth, device to device", "4.18 GB/s", f"{_K20}, GPUDirect", "cuda_aware",
               r"one way, \d+ bytes in a window, GB/s"),
         Claim("bandwidth, device to device through host memory", "1.89 GB/s", _K20),
         Claim("bandwidth, host to host", "6.19 GB/s", _K20)]),
    Document(
        "A Bandwidth-saving Optimization for MPI Broadcast Collective Operation",
        "H. Zhou, V. Marjanovic, C. Niethammer, J. Gracia; P2S2-2015", ["bcast"],
        [Claim("native over tuned, 16 ranks, from 512 KiB", "1.12 at best", _HORNET, "bcast",
               r"native over tuned, synchronised: best"),
         Claim("native over tuned, 64 ranks, from 512 KiB", "1.41 at best", _HORNET),
         Claim("native over tuned, 256 ranks, from 512 KiB", "1.20 at best", _HORNET),
         Claim("native over tuned, 129 ranks, 12 KiB to 3 MiB", "1.30 at best", _HORNET),
         Claim("native over tuned, 12 KiB, number of ranks no power of two", "more than 2", _HORNET),
         Claim("the MPI's own broadcast over Dunnage's", "", "not in the document", "bcast",
               r"plain over dunnage, synchronised: geometric mean")]),
]
