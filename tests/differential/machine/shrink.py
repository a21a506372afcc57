"""Makes a script that shows a difference as short as it can."""

import re

from . import compare

DROPPED = [" at=bottom", " type_freed=at_once", " status=ignore"]
DROPPED += [f" in={kind}" for kind in ("device", "managed", "pinned", "pool")]
ASKING = ("get_status", "test_once", "probe_once", "handler", "barrier")  # other lines wait for none of these


def group(line):
    found = re.search(r"@(\d+)$", line)
    return found.group(1) if found else None


def groups(lines):
    return list(dict.fromkeys(filter(None, map(group, lines))))


def halved(line):
    """The line with half its counts. The send stays longer than the receive where it was, and no
    longer where it was not."""
    truncated = "wanted=truncate" in line
    receives = " from=" in line and " to=" not in line or truncated

    def half(match):
        count = int(match.group(2))
        return f"{match.group(1)}={count // 2 if receives == truncated else (count + 1) // 2}"

    return re.sub(r"\b([sr]?count)=(\d+)", half, line)


def with_bytes(lines):
    """Halves the counts of a group and corrects the `bytes=` of its receives."""
    sends = [line for line in lines if re.search(r"\b(i?send|send_init)\b", line)]
    receives = [line for line in lines if "bytes=" in line]
    shorter = []
    for line in lines:
        new = halved(line)
        if "bytes=" in line:
            send = sends[receives.index(line)] if len(sends) == len(receives) else None
            if not send:
                return None
            old, now = (int(re.search(r"\bcount=(\d+)", text).group(1)) for text in (send, halved(send)))
            bytes_ = int(re.search(r"bytes=(\d+)", line).group(1))
            new = re.sub(r"bytes=\d+", f"bytes={bytes_ * now // old if old else 0}", new)
        shorter.append(new)
    return shorter


def without(lines, dropped):
    return [line for line in lines if group(line) not in dropped]


def candidates(script):
    """Scripts that are a step shorter or simpler, those first that are shorter by more."""
    head, *lines = script.splitlines()
    names = groups(lines)
    size = len(names) // 2
    while size:
        for i in range(0, len(names), size):
            yield [head, *without(lines, names[i : i + size])]
        size //= 2
    for i, line in enumerate(lines):
        if not group(line) or line.split()[1] in ASKING:
            yield [head, *lines[:i], *lines[i + 1 :]]
    ranks = int(re.search(r"ranks=(\d+)", head).group(1))
    if ranks > 2 and not any(re.match(rf"{ranks - 1}[ .]", line) for line in lines):
        yield [head.replace(f"ranks={ranks}", f"ranks={ranks - 1}"), *lines]
    for name in names:
        mine = [line for line in lines if group(line) == name]
        shorter = with_bytes(mine)
        if shorter and shorter != mine:
            replaced = iter(shorter)
            yield [head, *[next(replaced) if group(line) == name else line for line in lines]]
    for i, line in enumerate(lines):
        for option in DROPPED:
            if option in line:
                yield [head, *lines[:i], line.replace(option, ""), *lines[i + 1 :]]
        if re.search(r" mode=(?!standard)", line):
            yield [head, *lines[:i], re.sub(r"mode=\w+", "mode=standard", line), *lines[i + 1 :]]


def shrink(mpi, mode, script, difference, at_a_time=8, most=40):
    """A script of no more lines that shows a difference of the same kind. `most`: rounds of
    `at_a_time` candidates, which run in one launch."""
    hangs = not difference.line

    def still_differs(verdict):
        return any(one.kind == difference.kind for one in verdict.differences)

    tried = set()
    for _ in range(most):
        waiting = ("\n".join(lines) + "\n" for lines in candidates(script))
        fresh = list(dict.fromkeys(text for text in waiting if text not in tried))
        if not fresh:
            break
        batch = fresh[: 1 if hangs else at_a_time]
        tried.update(batch)
        for text, verdict in zip(batch, compare.examine_all(mpi, mode, batch, 2, 2)):
            if still_differs(verdict):
                script = text
                break
    return script
