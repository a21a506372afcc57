"""The command line of ``dunnage bench``: each experiment takes its own options."""

import pytest

from dunnage.bench.__main__ import main
from dunnage.bench.home import experiment_files, find_home
from dunnage.bench.options import OPTIONS, parse, parser_of
from dunnage.bench.packages import require


def refused(capsys, *words):
    with pytest.raises(SystemExit) as end:
        parse(list(words))
    assert end.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_options_stand_before_and_after_the_experiment():
    for words in (["pack", "--mode", "cold", "--quick"], ["--mode=cold", "pack", "--quick"]):
        options = parse(words)
        assert (options.name, options.mode, options.quick, options.all) == ("pack", "cold", True, False)
    assert parse(["--output", "halo", "pack"]).output.name == "halo"


def test_options_that_are_not_given():
    options = parse(["message"])
    assert options.memory == "host" and options.rounds is None and options.simulated is False


def test_all_takes_every_option():
    options = parse(["--all", "--force", "--mode", "cold", "--simulated"])
    assert options.all and options.force and options.mode == "cold" and options.simulated and options.name is None


@pytest.mark.parametrize("words, said", [
    (["halo", "--mode", "cold"], "dunnage bench halo: error: --mode is an option of these experiments only: pack"),
    (["bcast", "--memory=host"], "only: pack, halo, higrad, unexpected"),
    (["commit", "--fast"], "dunnage bench commit: error: unrecognized arguments: --fast"),
    (["--force", "pack"], "unrecognized arguments: --force"),
    (["pack", "--memory", "gpu"], "invalid choice: 'gpu' (choose from 'host', 'device')"),
    (["--all", "pack"], "give the name of one experiment, or --all"),
    ([], "give the name of one experiment, or --all"),
])
def test_what_cannot_be_meant_is_refused(capsys, words, said):
    assert said in refused(capsys, *words)


def test_each_experiment_has_its_own_help(capsys):
    stems = [path.stem for path in experiment_files(find_home())]
    for name in {stem.removesuffix("_host").removesuffix("_device").replace("_", "-") for stem in stems}:
        with pytest.raises(SystemExit) as end:
            main([name, "--help"])
        shown = capsys.readouterr().out
        assert end.value.code == 0 and shown.startswith(f"usage: dunnage bench {name} ")
        assert ("--mode" in shown) == (name == "pack") and "--quick" in shown and "--all" not in shown


def test_options_name_experiments_that_there_are():
    stems = {path.stem for path in experiment_files(find_home())}
    for name, experiments, _ in OPTIONS:
        for experiment in experiments:
            stem = experiment.replace("-", "_")
            assert {stem, f"{stem}_host", f"{stem}_device"} & stems, name
    assert parser_of("pack").prog == "dunnage bench pack"


def test_an_unknown_experiment_is_named(capsys):
    assert main(["hal"]) == 2
    assert "no experiment 'hal" in capsys.readouterr().err


def test_missing_packages_are_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "scipy" else True)
    with pytest.raises(SystemExit) as end:
        require("tune", "scipy")
    said = capsys.readouterr().err
    assert end.value.code == 2 and "dunnage tune: " in said and "-m pip install scipy\n" in said
