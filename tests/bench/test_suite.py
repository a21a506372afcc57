"""`dunnage bench --all`: goes on after failures and interruptions, and writes one page."""

import json
import re
from html.parser import HTMLParser

import pytest

from dunnage.bench.__main__ import main
from dunnage.bench.home import experiment_files, find_home
from dunnage.bench.options import parse
from dunnage.bench.runner import NoDevice, RunError
from dunnage.bench.suite import outcome
from dunnage.bench.suite.documents import DOCUMENTS
from dunnage.bench.suite.progress import Progress, clock
from dunnage.bench.suite.run import run_all

NAMES = ["bcast", "cuda_aware", "higrad_host", "message"]
PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de")


class Stub:
    """Stands for the experiments: writes results, or raises what it was given for a name."""

    def __init__(self, **raised):
        self.raised, self.ran = raised, []

    def __call__(self, home, path, options):
        name = path.stem
        self.ran.append(name)
        if self.raised.get(name):
            raise self.raised[name]
        print(f"the tables of {name} <&>")
        figures = {"bcast": "native over tuned, synchronised: best",
                   "higrad_host": "exchange, option 1 over option 2, plain"}
        (options.output / f"{name}.json").write_text(json.dumps({
            "mpis": {"mpich": {"library_version": "MPICH Version: 9\nmore"}},
            "summary": [{"mpi": "mpich", "name": figures.get(name, "a figure"), "value": 1.25, "threshold": 1,
                         "pattern": "2 ranks", "at_most": False, "mode": "", "operation": "", "met": True}]}))
        (options.output / f"{name}.png").write_bytes(PIXEL)
        return name != "message"


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "experiments"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.toml").write_text(
            f'title = "Title of {name}"\nprogram = "no_program"\n[run]\nrounds = 1\n[about]\nquick = 5\n')
    return sorted(folder.glob("*.toml"))


def start(files, tmp_path, stub, *words):
    options = parse(["--all", "--quick", "--output", str(tmp_path / "out"), *words])
    options.output.mkdir(exist_ok=True)
    return run_all(find_home(), files, options, stub)


def states(tmp_path):
    return {name: found.state for name in NAMES for found in [outcome.load(tmp_path / "out", name)] if found}


class Checker(HTMLParser):
    """Counts elements, and finds whether they are closed in their order."""

    def __init__(self):
        super().__init__()
        self.open, self.sources, self.ids, self.hrefs = [], [], set(), set()

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.sources += [found[name] for name in ("src",) if name in found]
        self.hrefs |= {found["href"]} if "href" in found else set()
        self.ids |= {found["id"]} if "id" in found else set()
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(page):
    checker = Checker()
    checker.feed(page)
    assert not checker.open
    assert all(source.startswith("data:") for source in checker.sources)
    assert all(href.startswith("#") and href[1:] in checker.ids for href in checker.hrefs)
    return checker


def test_goes_on_and_writes_one_page(files, tmp_path, capsys):
    stub = Stub(cuda_aware=NoDevice("there is no GPU"), higrad_host=RunError("ended with status 9"))
    assert start(files, tmp_path, stub) == 2
    assert stub.ran == NAMES
    assert states(tmp_path) == {"bcast": outcome.DONE, "cuda_aware": outcome.CANNOT, "higrad_host": outcome.FAILED,
                                "message": outcome.WRONG}
    said = capsys.readouterr()
    assert "[2/4] cuda_aware" in said.err and "left" in said.err and "there is no GPU" in said.err
    assert "the tables of bcast" in said.out

    text = (tmp_path / "out" / "all.html").read_text()
    page = checked(text)
    assert set(NAMES) <= page.ids and len(page.sources) == 2
    for words in ("there is no GPU", "ended with status 9", "the tables of bcast &lt;&amp;&gt;", "MPICH Version: 9",
                  "1.12 at best", "Title of message"):
        assert words in text, words
    assert all(document.title in text for document in DOCUMENTS)
    assert re.search(r"<b>1.25</b> \(bcast, mpich", text), "our figure stands beside the document's"


def test_an_interrupted_run_goes_on(files, tmp_path, capsys):
    assert start(files, tmp_path, Stub(higrad_host=KeyboardInterrupt())) == 130
    assert set(states(tmp_path)) == {"bcast", "cuda_aware"}
    assert "interrupted before" in (tmp_path / "out" / "all.html").read_text()

    again = Stub()
    assert start(files, tmp_path, again) == 1, "message finds fault"
    assert again.ran == ["higrad_host", "message"]
    assert "bcast: kept from" in capsys.readouterr().err

    for words, ran in (([], []), (["--force"], NAMES), (["--rounds", "2"], NAMES)):
        stub = Stub()
        start(files, tmp_path, stub, *words)
        assert stub.ran == ran


def test_what_is_left_out_is_named(files, tmp_path):
    with files[0].open("a") as file:
        file.write('[quick]\nleft_out = "nothing large"\n')
    stub = Stub()
    assert start(files, tmp_path, stub) == 1, "message finds fault"
    assert stub.ran == NAMES[1:] and states(tmp_path)["bcast"] == outcome.LEFT_OUT
    assert "left out: nothing large" in (tmp_path / "out" / "all.html").read_text()


def test_what_failed_runs_again(files, tmp_path):
    start(files, tmp_path, Stub(bcast=RunError("x"), cuda_aware=NoDevice("y"), message=ZeroDivisionError("z")))
    stub = Stub()
    assert start(files, tmp_path, stub) == 1
    assert stub.ran == ["bcast", "cuda_aware", "message"]


def test_the_time_that_is_left():
    progress = Progress({"a": 10, "b": 20, "c": 30})
    assert progress.left == 60
    progress.skip("b")
    progress.finish("a", 20)
    assert progress.left == 60, "the first took twice as long as expected"
    assert [clock(seconds) for seconds in (40, 130, 8000)] == ["40 s", "2 min", "2 h 13 min"]


def test_claims_name_experiments_and_each_experiment_has_a_time():
    names = {path.stem for path in experiment_files(find_home())}
    for document in DOCUMENTS:
        assert set(document.experiments) <= names
        for claim in document.claims:
            assert not claim.experiment or any(re.fullmatch(claim.experiment, name) for name in document.experiments)
    for path in experiment_files(find_home()):
        assert re.search(r"^\[about\]", path.read_text(), re.MULTILINE), path


def test_a_real_experiment(tmp_path, monkeypatch):
    home = find_home()
    mpis = home.mpis("bench_commit")
    if not mpis or not home.library.exists():
        pytest.skip(f"bench_commit or the library is not built in {home.path}; build it, or set DUNNAGE_HOME")
    file = next(path for path in experiment_files(home) if path.stem == "commit")
    monkeypatch.setattr("dunnage.bench.__main__.experiment_files", lambda home: [file])
    assert main(["--all", "--quick", "--mpi", mpis[0], "--output", str(tmp_path)]) == 0
    text = (tmp_path / "all.html").read_text()
    assert len(checked(text).sources) == 1
    assert "lists: exponent of growth" in text
