"""Compares what plain runs and runs with Dunnage have told, and names what is known to differ."""

import dataclasses
import re

from . import known, runner

PLAIN_RUNS, OTHER_RUNS = 4, 2  # of a script that differs
PAUSED_RUNS = 40  # plain, of a script that still differs


@dataclasses.dataclass
class Difference:
    """`rank` is -1 and `line` 0 if a run did not come to its end."""

    line: int
    rank: int
    statement: str
    plain: str
    other: str

    @property
    def kind(self):
        """What stays as it is while the script is made shorter."""
        if not self.line:
            return re.sub(r"line \d+|\d+", "", self.other)
        return self.other.split()[0]

    @property
    def is_grave(self):
        """Whether no timing can excuse it: a crash, a hang, wrong bytes."""
        return not self.line or bool(re.search(r"data:wrong|:touched", self.other))

    def __str__(self):
        where = f"line {self.line}, rank {self.rank}: {self.statement}" if self.line else "the whole script"
        return f"{where}\n  plain   {self.plain}\n  Dunnage {self.other}"


@dataclasses.dataclass
class Verdict:
    differences: list  # that nothing explains
    explained: list  # reasons
    varying: int = 0  # statements whose plain results are not always alike
    plain_fails: str = ""  # how the plain MPI itself ends; then nothing is compared


def statements(script):
    return dict(enumerate(script.splitlines(), 1))


def group_of(texts, line):
    """The lines that belong together with one line; that line alone if it names no group."""
    group = texts[line].partition("@")[2]
    return [text for text in texts.values() if text.partition("@")[2] == group] if group else [texts[line]]


def compare(mpi, script, plain_runs, other):
    """The verdict on one run with Dunnage after some plain ones."""
    failed = [run.end for run in plain_runs if run.end]
    if failed:
        return Verdict([], [], 0, failed[0])
    texts = statements(script)
    if other.end:
        if reason := known.explains_end(mpi, texts, other.end):
            return Verdict([], [reason])
        return Verdict([Difference(0, -1, "", "finished", other.end)], [])
    verdict = Verdict([], [])
    for line, rank in sorted(plain_runs[0].lines):
        seen = {run.lines.get((line, rank)) for run in plain_runs}
        if len(seen) > 1:
            verdict.varying += 1
            continue
        plain, found = seen.pop(), other.lines.get((line, rank), "nothing")
        if plain == found:
            continue
        reason = known.explains(mpi, group_of(texts, line), plain, found, " threads=1" in texts[1])
        if reason:
            verdict.explained.append(reason)
        else:
            verdict.differences.append(Difference(line, rank, texts[line], plain, found))
    return verdict


def examine(mpi, mode, script, plain=PLAIN_RUNS, other=OTHER_RUNS):
    """The verdict on a script by several runs, in launches that do nothing else. A difference
    counts if one of the other runs has it."""
    return examine_all(mpi, mode, [script], plain, other)[0]


def examine_all(mpi, mode, scripts, plain=PLAIN_RUNS, other=OTHER_RUNS):
    plains = runner.run(mpi, "plain", [script for script in scripts for _ in range(plain)])
    others = runner.run(mpi, mode, [script for script in scripts for _ in range(other)])
    verdicts = []
    for i, script in enumerate(scripts):
        mine = plains[i * plain : (i + 1) * plain]
        all_ = [compare(mpi, script, mine, one) for one in others[i * other : (i + 1) * other]]
        verdicts.append(max(all_, key=lambda verdict: len(verdict.differences)))
    return verdicts


def only_at_other_times(mpi, script, differences):
    """Whether the plain MPI sometimes tells what runs with Dunnage have told, if its ranks rest
    between statements."""
    paused = runner.run(mpi, "paused", [script] * PAUSED_RUNS)
    return all(
        any(run.lines.get((difference.line, difference.rank)) == difference.other for run in paused)
        for difference in differences
    )
