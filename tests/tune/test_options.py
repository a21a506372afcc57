"""The command line of ``dunnage tune``: what cannot be meant is refused at once."""

import pytest

from dunnage.tune.options import parse


def refused(capsys, *words):
    with pytest.raises(SystemExit) as end:
        parse(list(words))
    assert end.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("seconds", ["nan", "inf", "0", "-1"])
def test_seconds_that_are_no_time(capsys, seconds):
    assert "must be a number greater than 0" in refused(capsys, f"--seconds={seconds}")


def test_a_place_for_the_file(tmp_path):
    for path in (tmp_path / "model.json", tmp_path / "new" / "folder" / "model.json"):
        assert parse(["--output", str(path)]).output == path
        assert not path.parent.name == "folder" or not path.parent.exists()  # nothing is made yet


def test_a_place_where_no_file_can_be(capsys, tmp_path):
    assert "is a folder" in refused(capsys, "--output", str(tmp_path))
    (tmp_path / "file").write_text("")
    assert "is no folder" in refused(capsys, "--output", str(tmp_path / "file" / "model.json"))
