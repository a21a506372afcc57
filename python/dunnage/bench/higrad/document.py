"""The figures of "Evaluation using Higrad" by D. Schafer and P. Bridges: minutes of a whole run.

Open MPI 3.1.5, compilers of PGI, a rank for each GPU. The document tells neither the number of
variables, nor how deep the ghost cells are, nor how the ranks divide the mesh.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List

from tabulate import tabulate

from .results import OPTIONS


@dataclass(frozen=True)
class Machine:
    """One machine of the document, with the minutes of options 0, 1 and 2."""

    name: str
    mesh: str
    total: List[float]
    communication: List[float]

    def compute(self, option: int) -> float:
        """Returns the minutes that are not communication."""
        return self.total[option] - self.communication[option]


MACHINES = [
    Machine("Xena, 4 nodes with a K40M", "300x300x375", [16.8169, 64.45, 14.0814], [2.9039, 49.7395, 0.3323]),
    Machine("Chicama, 4 A100", "500x500x625", [16.097, 107.8532, 12.867], [3.2639, 95.653, 0.5189]),
]


def document_table() -> str:
    """Returns the figures as a table, with the communication over that of option 2."""
    rows = [
        {
            "machine": machine.name, "mesh": machine.mesh, "option": OPTIONS[option],
            "compute min": f"{machine.compute(option):.2f}", "exchange min": f"{machine.communication[option]:.2f}",
            "exchange %": f"{100 * machine.communication[option] / machine.total[option]:.1f}",
            "exchange/option 2": f"{machine.communication[option] / machine.communication[2]:.3g}",
        }
        for machine in MACHINES for option in range(3)
    ]
    return tabulate(rows, headers="keys", disable_numparse=True)
