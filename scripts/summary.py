#!/usr/bin/env python3
"""Adds up a folder of JUnit files: a line for each, the failed tests by name, the total. Fails if a
test did."""
import pathlib
import sys
import xml.etree.ElementTree as xml


def outcome(case):
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def text(counts):
    return ", ".join(f"{counts[kind]} {kind}" for kind in counts if counts[kind] or kind != "skipped")


def main(folder):
    total = {"passed": 0, "failed": 0, "skipped": 0}
    failures = []
    for path in sorted(pathlib.Path(folder).glob("*.xml")):
        counts = dict.fromkeys(total, 0)
        seconds = 0.0
        for case in xml.parse(path).iter("testcase"):
            kind = outcome(case)
            counts[kind] += 1
            total[kind] += 1
            seconds += float(case.get("time") or 0)
            if kind == "failed":
                name = f"{case.get('classname')}::{case.get('name')}" if case.get("classname") else case.get("name")
                failures.append(f"{path.stem}: {name}")
        print(f"{path.stem:<16} {text(counts)}, {seconds:.0f} s")
    for failure in failures:
        print(f"FAILED {failure}")
    print(text(total))
    return 1 if failures or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
