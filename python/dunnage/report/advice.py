"""The reasons of the report: what each one means and what to do about it.

This is the only table of them. `make docs` writes docs/reference/report.md from it, and a test
holds it against the reasons of src/plan/reason.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict


@dataclass(frozen=True)
class Advice:
    """What a reason means, and what to do. Both are Markdown, with links as in docs/reference."""

    meaning: str
    to_do: str
    act: bool = False  # whether the user can change something


NOTHING = "nothing"

ADVICE: Dict[str, Advice] = {
    "contiguous data": Advice("nothing to pack", "nothing: the call went straight through"),
    "datatype not seen at MPI_Type_commit": Advice(
        "the type was committed before Dunnage was there, or was not committed",
        "preload Dunnage from the program's start: `dunnage run`", act=True),
    "no data": Advice("a count of 0, or an empty type", NOTHING),
    "MPI_PROC_NULL": Advice("no partner", NOTHING),
    "argument left to the MPI to judge": Advice(
        "a negative count, a null pointer, a buffer that is too small", "see the MPI's own error", act=True),
    "this MPI packs the datatype in its own order": Advice(
        "a known defect of the MPI ([limits](limits.md)): both sides must be packed by one library", NOTHING),
    "larger than DUNNAGE_STAGING_LIMIT or an int count": Advice(
        "too large for one message of staging memory", "raise the setting, or use the `_c` call", act=True),
    "no gain predicted": Advice(
        "the MPI is expected to be at least as fast",
        "`dunnage tune`, so that figures of this machine decide; `DUNNAGE_FORCE=always` to see for yourself", act=True),
    "the MPI's turn in a trial, or it won the trial": Advice(
        "packing calls and messages try who is faster with such data "
        "([decisions 23](../decisions/0023-pack-trials.md), [28](../decisions/0028-message-trials.md))", NOTHING),
    "the other rank of the message has chosen the MPI": Advice(
        "both ranks of a message leave it to the MPI, if one of them does "
        "([decision 47](../decisions/0047-other-side.md))", NOTHING),
    "this MPI cannot be trusted with packed bytes here": Advice(
        "a defect that only packed messages meet ([limits](limits.md))", NOTHING),
    "DUNNAGE_FORCE=never": Advice("you asked for it", "leave the setting out to accelerate calls", act=True),
    "no staging memory": Advice("there was none", "lower `DUNNAGE_STAGING_LIMIT`", act=True),
    "sends that wait fill DUNNAGE_STAGING_MEMORY": Advice(
        "many nonblocking sends were under way at a time", "raise the setting", act=True),
    "datatype could not be analysed": Advice(
        "a constructor that Dunnage does not know, or values beyond 63 bits", "tell us", act=True),
    "this call is left to the MPI": Advice(
        "collectives, one-sided calls, files, partitioned messages between ranks that are not known to have Dunnage, "
        "`MPI_Isendrecv`: with data that is not contiguous, or datatypes in arrays",
        "start the program by `dunnage run`, so that ranks on several hosts know that all have Dunnage; else nothing "
        "yet"),
    "device memory, packed by the MPI in host memory": Advice(
        "the MPI packs the datatype in its own order, or the datatype is unknown, or the call is left to the MPI: "
        "copied to the host and back", NOTHING),
    "device memory, contiguous: this MPI reaches it": Advice(
        "the MPI is CUDA-aware and gets the buffer as it is "
        "([decision 14](../decisions/0014-mpis-that-reach-gpus.md))", NOTHING),
    "an error of the device, reported": Advice(
        "the call failed, through the communicator's error handler; `MPI_Error_string` says why",
        "what the error says", act=True),
    "device memory, and no kernels were built": Advice(
        "this installation was built without nvcc, so the MPI gets the buffer as it is",
        "build with nvcc, or with `CUDA_WHEELS=yes`", act=True),
}

# A report may come from a library that is newer than this table.
UNKNOWN = Advice("this version of `dunnage report` does not know the reason",
                 "use the `dunnage` command of the library that wrote the report", act=True)


def advice(reason: str) -> Advice:
    """Returns the row of a reason, or UNKNOWN."""
    return ADVICE.get(reason, UNKNOWN)


def table() -> str:
    """Returns the table of docs/reference/report.md."""
    rows = [f"| {reason} | {row.meaning} | {row.to_do} |" for reason, row in ADVICE.items()]
    return "\n".join(["| reason | meaning | what to do |", "|---|---|---|", *rows]) + "\n"
