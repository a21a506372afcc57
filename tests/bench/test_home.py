"""Where the library is: in a build tree, and in a package of a distribution."""
import sysconfig

import pytest
from dunnage.bench.home import Home


def test_a_tree_of_its_own(tmp_path):
    assert Home(tmp_path).library == tmp_path / "lib" / "libdunnage.so"
    assert Home(tmp_path).simulator == tmp_path / "lib" / "dunnage" / "sim"


@pytest.mark.parametrize("python, found", [("x86_64-linux-gnu", "x86_64-linux-gnu/libdunnage.so.0"),
                                           ("aarch64-linux-gnu", "libdunnage.so"), (None, "libdunnage.so")])
def test_a_package_for_the_architecture(tmp_path, monkeypatch, python, found):
    """That of another architecture is not taken."""
    monkeypatch.setattr(sysconfig, "get_config_var", {"MULTIARCH": python}.get)
    folder = tmp_path / "lib" / "x86_64-linux-gnu"
    folder.mkdir(parents=True)
    (folder / "libdunnage.so.0").touch()
    (tmp_path / "lib" / "libdunnage.so.0").touch()  # a build folder has that name too
    home = Home(tmp_path)
    assert home.library == tmp_path / "lib" / found
    assert home.simulator == (tmp_path / "lib" / found).parent / "dunnage" / "sim"
