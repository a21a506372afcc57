"""dunnage report: the page, the text and the table of reasons."""
import html.parser
import json
import re
import subprocess
import sys

import pytest

ROOT_URL = re.compile(r"https?://|src=|@import|url\(|<script|<link")
RUN = {
    "mpi": "Some <MPI> & more",
    "machine": "Some processor, 2 cores",
    "settings": {"DUNNAGE_BCAST": "on", "DUNNAGE_FORCE": "always"},
    "ranks": 2,
    "calls": {
        "MPI_Pack": {"accelerated": 30, "declined": {"the MPI's turn in a trial, or it won the trial": 10},
                     "bytes": 3 << 20, "seconds": 0.003, "by ticket": 0},
        "MPI_Isend": {"accelerated": 0, "declined": {"contiguous data": 7, "no gain predicted": 5},
                      "bytes": 0, "seconds": 0.0, "by ticket": 0},
        "MPI_Send": {"accelerated": 4, "declined": {}, "bytes": 4096, "seconds": 4e-6, "by ticket": 3,
                     "through rings": 2, "by channel": 1, "device memory": {"self: one copy": 4}},
    },
    "device work": {"messages fetched": 26, "groups": 2, "groups that came later": 1, "kernels": 3, "copies": 0},
    "helpers": {"bytes of shared work": 3 << 20, "bytes of helpers": 1 << 20},
    "trials": [
        {"call": "pack", "data": "up to 1 KiB", "choice": "Dunnage", "over": True,
         "seconds": {"the MPI": 3e-6, "Dunnage": 2e-6}},
        {"call": "unpack", "data": "up to 2 KiB", "choice": "the MPI", "over": True,
         "seconds": {"the MPI": 1e-6, "Dunnage": 2e-6}},
        {"call": "pack", "data": "up to 4 KiB", "choice": "Dunnage", "over": False,
         "seconds": {"the MPI": 5e-6, "Dunnage": 1e-6}},
        {"call": "pack", "data": "never measured", "choice": "Dunnage", "over": False, "seconds": {}},
    ],
}


@pytest.fixture
def report(tmp_path):
    """report("a", mpi=...) writes RUN with these changes and returns the file."""

    def write(stem="run", **changes):
        file = tmp_path / f"{stem}.json"
        file.write_text(json.dumps({**RUN, **changes}))
        return file

    return write


class Cells(html.parser.HTMLParser):
    """The cells of all tables, row by row; every element must be closed by its own end tag."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag == "meta":
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


def page_of(result, path):
    assert result.returncode == 0, result.stderr
    assert f"page: {path}" in result.stdout
    return path.read_text()


def test_text_says_what_was_measured_and_what_to_do(dunnage, report):
    result = dunnage("report", report())
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].endswith("run.json: 2 ranks of Some <MPI> & more")
    assert lines[1].split(None, 1)[1] == (
        "Of 2 kinds of calls that were measured, Dunnage does 1, 1.5 times as fast as the MPI; "
        "the MPI does 1, where Dunnage is 0.5 times as fast.")
    assert lines[2].split(None, 1)[1] == "34 calls, 3 MiB in 3 ms"
    told = {line.split(": ", 1)[1].split(";")[0]: line for line in lines if line.startswith("  declined")}
    assert "to do: dunnage tune" in told["no gain predicted"]
    assert "to do" not in told["contiguous data"]
    assert any("4 messages: self: one copy" in line for line in lines)
    assert any("26 messages fetched, 2 groups, 1 groups that came later, 3 kernels" in line for line in lines)
    assert any("helpers      packed 1 MiB of 3 MiB" in line for line in lines)


def test_page_holds_all_and_needs_nothing(dunnage, report):
    file = report()
    page = page_of(dunnage("report", file), file.with_suffix(".html"))
    assert not ROOT_URL.search(page)
    assert "<MPI>" not in page and "Some &lt;MPI&gt; &amp; more" in page
    rows = Cells(page).rows
    trial = next(row for row in rows if "up to 1 KiB" in row)
    assert trial == ["pack", "up to 1 KiB", " the MPI, 3 us Dunnage, 2 us", "Dunnage", "1.5 times"]
    assert [row[3:] for row in rows if "up to 4 KiB" in row] == [["Dunnage, so far", "5 times"]]
    assert not [row for row in rows if "never measured" in row]
    assert ["MPI_Send", "", "4", "0", "4 KiB", "1 us", "3 by ticket, 2 through rings, 1 by channel"] in rows
    assert ["no gain predicted", "5", "MPI_Isend"] in [row[:3] for row in rows]
    assert ["self: one copy", "4"] in rows
    assert ["kernels", "3"] in rows
    assert ["bytes of helpers", "1 MiB"] in rows
    assert "Some processor, 2 cores" in rows[-1] and "DUNNAGE_BCAST=on, DUNNAGE_FORCE=always" in rows[-1]


CALLER = """extern int other(void);
int calls_it(void) {
  return other() +
         1;
}
"""


@pytest.mark.parametrize("option, known, name", [
    ("-g", {}, "calls_it, caller.c:3"),
    ("-g0", {}, "calls_it, libcaller.so+0x{:x}"),
    (None, {"function": "calls_it"}, "calls_it, libcaller.so+0x{:x}"),
    (None, {}, "libcaller.so+0x{:x}"),
])
def test_places_in_the_program_have_names(dunnage, report, tmp_path, option, known, name):
    """With lines, with functions, and of a file that is gone."""
    source, library = tmp_path / "caller.c", tmp_path / "libcaller.so"
    source.write_text(CALLER)
    offset = 0x1234
    if option:
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", option, "-o", library, source], check=True)
        symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
        offset = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" calls_it")) + 8
    site = {**known, "call": "MPI_Send", "file": str(library), "offset": offset, "accelerated": 5,
            "declined": {"contiguous data": 2}, "bytes": 4096, "seconds": 1e-5}
    file = report("sites", **{"call sites": [site]})
    result = dunnage("report", file)
    place = name.format(offset)
    assert f"  place        {place}: MPI_Send, 5 calls accelerated, 2 declined" in result.stdout.splitlines()
    row = next(row for row in Cells(file.with_suffix(".html").read_text()).rows if row[0] == place)
    assert row == [place, "MPI_Send", "", "5", "2", "4 KiB", "2 us", "2 contiguous data"]
    told = json.loads(dunnage("report", "--json", file).stdout)["reports"][0]
    assert told["call sites"][0]["place"] == place and told["call sites"][0]["declined"] == {"contiguous data": 2}


def test_several_runs_stand_side_by_side(dunnage, report, tmp_path):
    plain = {"MPI_Send": {"accelerated": 0, "declined": {"DUNNAGE_FORCE=never": 4}, "bytes": 0, "seconds": 0.0}}
    files = [report("first"), report("second", calls=plain, trials=[])]
    output = tmp_path / "both.html"
    rows = Cells(page_of(dunnage("report", *files, "--output", output), output)).rows
    assert [row[1] for row in rows if row[0] == "MPI_Send"] == list(map(str, files))
    assert next(row for row in rows if row[0] == "DUNNAGE_FORCE=never")[1:4] == ["0", "4", "MPI_Send"]


def test_json_says_what_the_text_says(dunnage, report):
    result = dunnage("report", "--json", report())
    told = json.loads(result.stdout)["reports"][0]
    assert told["accelerated"] == 34
    assert told["measured"] == [
        {"call": "pack", "data": "up to 1 KiB", "choice": "Dunnage", "gain": pytest.approx(1.5)},
        {"call": "unpack", "data": "up to 2 KiB", "choice": "the MPI", "gain": pytest.approx(0.5)}]
    assert told["declined"]["no gain predicted"]["act"] is True


@pytest.mark.parametrize("text, words", [
    (None, "No such file"),
    ("{", "is not JSON (line 1"),
    ("[]", "no report of Dunnage"),
    ('{"mpi": "x", "ranks": 1, "calls": {"MPI_Send": {}}}', "no report of Dunnage"),
])
def test_what_is_no_report(dunnage, tmp_path, text, words):
    file = tmp_path / "run.json"
    if text is not None:
        file.write_text(text)
    result = dunnage("report", file)
    assert result.returncode == 2 and not (tmp_path / "run.html").exists()
    assert f"dunnage report: {file}" in result.stderr and words in result.stderr
    assert "dunnage run --report=FILE.json" in result.stderr


def test_a_page_that_cannot_be_written(dunnage, report, tmp_path):
    result = dunnage("report", report(), "--output", tmp_path / "none" / "x.html")
    assert result.returncode == 2
    assert f"cannot write {tmp_path}/none/x.html" in result.stderr and "--output" in result.stderr


def test_no_reason_is_without_advice(root):
    """The reasons of the library, those of the table, and those of the page are one list."""
    source = (root / "src" / "plan" / "reason.hpp").read_text()
    reasons = re.findall(r'^ +row\(\w+, "([^"]+)"\)', source, re.M)
    assert reasons[0] == "accelerated" and len(reasons) == source.count("  row(")
    command = "from dunnage.report.advice import ADVICE; print(*ADVICE, sep='\\n')"
    result = subprocess.run([sys.executable, "-c", command], env={"PYTHONPATH": str(root / "python")},
                            capture_output=True, text=True, check=True)
    assert sorted(result.stdout.splitlines()) == sorted(reasons[1:])


def test_the_page_of_reasons_is_up_to_date(root, tmp_path):
    page = root / "docs" / "reference" / "report.md"
    copy = tmp_path / "report.md"
    copy.write_text(page.read_text().replace("| contiguous data |", "| something else |"))
    subprocess.run([sys.executable, root / "generate" / "reasons.py", copy], check=True)
    assert copy.read_text() == page.read_text(), "run `make docs`"


SSEND = {"accelerated": 3, "declined": {"no gain predicted": 1}, "bytes": 200 << 20, "seconds": 0.03, "by ticket": 0,
         "by size": [{"up to": 4096, "accelerated": 1, "declined": 1, "bytes": 4096, "seconds": 2e-6},
                     {"accelerated": 2, "declined": 0, "bytes": (200 << 20) - 4096, "seconds": 0.03}]}
PEERS = [{"from": 0, "to": 3, "accelerated": 5, "declined": 1, "bytes": 1 << 20, "seconds": 5e-6},
         {"from": 1, "accelerated": 0, "declined": 9, "bytes": 0, "seconds": 0.0}]


def test_sizes_and_peers(dunnage, report):
    path = report(calls={"MPI_Ssend": SSEND}, peers=PEERS)
    cells = Cells(page_of(dunnage("report", path), path.with_suffix(".html"))).rows
    assert ["MPI_Ssend", "up to 4 KiB", "", "1", "1", "4 KiB", "2 us"] in cells
    assert ["MPI_Ssend", "more than 64 MiB", "", "2", "0", "200 MiB", "15 ms"] in cells
    assert ["0", "3", "", "5", "1", "1 MiB", "1 us"] in cells
    assert ["1", "others", "", "0", "9", "", ""] in cells
    shown = json.loads(dunnage("report", path, "--json").stdout)["reports"][0]
    assert shown["by size"]["MPI_Ssend"][0]["most"] == 4096 and shown["by peer"][0]["receiver"] == 3
    assert "busiest pair rank 0 to rank 3: 5 sends accelerated, 1 declined" in dunnage("report", path).stdout


def test_older_reports_have_neither(dunnage, report):
    path = report()
    page = page_of(dunnage("report", path), path.with_suffix(".html"))
    assert "By size" not in page and "Sends by peer" not in page
