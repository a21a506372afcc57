"""The file that `dunnage tune` writes, and what it keeps of the one before."""

import json

import pytest

from dunnage.tune import model_file
from dunnage.tune.table import report
from synthetic import header
from test_evaluate import tuned

MACHINE = header()["machine"]


def entries(old, *found):
    return {(one["library"], one["major"]): one for one in model_file.merge(old, list(found), "today")}


def test_what_was_found_is_in_it():
    one = entries([], tuned())["Open MPI", 4]
    assert one["minor"] == 1 and one["date"] == "today"
    assert set(one) == {
        "library",
        "major",
        "minor",
        "date",
        "engine_pack",
        "library_pack",
        "least_ticket",
        "ticket",
        "messages",
        "curves",
    }
    assert set(one["messages"]) == {"same_host"}
    side = one["messages"]["same_host"]["send"]
    assert set(side) == {"engine", "library", "engine_eager_byte", "library_eager_block"}
    assert set(side["engine"]) == set(side["library"]) == {"call", "block", "byte", "far_byte"}
    assert one["messages"]["same_host"]["eager_limit"] == 4096
    curves = one["curves"]["same_host"]
    assert set(curves) == {"copy", "pack", "unpack", "contiguous", "send", "receive", "ticket"}
    assert all(len(row.split()) == 4 for row in curves["send"].split(";")) and curves["copy"] == "4096 4096 100"


def test_other_mpis_and_peers_stay():
    first = entries([], tuned(), tuned(library="MPICH"))
    second = entries(list(first.values()), tuned(peers="other_host", hosts=["a", "b"]))
    assert second["MPICH", 4] == first["MPICH", 4]
    both, before = second["Open MPI", 4], first["Open MPI", 4]
    assert set(both["messages"]) == set(both["curves"]) == {"same_host", "other_host"}
    assert both["messages"]["same_host"] == before["messages"]["same_host"]
    assert (both["least_ticket"], both["ticket"]) == (before["least_ticket"], before["ticket"])


def test_what_was_refused_is_left_to_the_built_in_figures():
    before = entries([], tuned())
    found = tuned(taken=0)
    for name in ("pack", "send"):
        found.part(name).refused = "too noisy"
    after = entries(list(before.values()), found)["Open MPI", 4]
    assert not {"engine_pack", "library_pack", "least_ticket", "ticket"} & set(after)
    assert "receive" in after["messages"]["same_host"] and "send" not in after["messages"]["same_host"]


def test_written_and_read_again(tmp_path):
    path = tmp_path / "folder" / "model.json"
    mpis = model_file.merge([], [tuned()], "today")
    model_file.write(path, MACHINE, {"date": "today"}, mpis)
    assert model_file.read(path, MACHINE) == (mpis, "")
    assert [one.name for one in path.parent.iterdir()] == ["model.json"] and path.stat().st_mode & 0o777 == 0o644
    document = json.loads(path.read_text())
    assert (document["format"], document["version"], document["machine"]) == ("dunnage model", 1, MACHINE)


@pytest.mark.parametrize(
    "text, says",
    [
        ("{", "damaged"),
        ("[]", "damaged"),
        ("{}", "damaged"),
        ('"text"', "damaged"),
        (json.dumps({"format": "dunnage model", "version": 2}), "another format or version"),
        (json.dumps({"format": "dunnage model", "version": 1, "machine": {}, "mpis": []}), "another machine"),
        (json.dumps({"format": "dunnage model", "version": 1, "machine": MACHINE, "mpis": [1]}), "damaged"),
    ],
)
def test_a_file_that_cannot_stay_is_said(tmp_path, text, says):
    path = tmp_path / "model.json"
    path.write_text(text)
    found, why = model_file.read(path, MACHINE)
    assert found == [] and says in why and str(path) in why


def test_no_file_is_nothing_to_say(tmp_path):
    assert model_file.read(tmp_path / "none.json", MACHINE) == ([], "")


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    with pytest.raises(TypeError):
        model_file.write(path, MACHINE, {"date": object()}, [])
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_the_table_says_what_was_found_beside_what_is_built_in():
    found = tuned()
    found.part("receive").refused = "too noisy"
    found.disturbed.append("other work")
    text = report(found)
    assert text.startswith("Open MPI 4.1, on one host")
    assert "2 (1.7)" in text and "blocks of 512 B" in text and "from " in text and "never" in text
    assert "; the built-in prices stay: too noisy" in text and "! other work" in text
    assert "not known" not in text and "What helps" not in text
