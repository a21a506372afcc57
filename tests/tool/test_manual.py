"""The manual pages and the completion have every command and every option."""
import re
import shlex
import shutil
import subprocess
import sys

import pytest

COMMANDS = ["run", "info", "explain", "bench", "report", "tune"]


@pytest.fixture(scope="module")
def share(build):
    return build / "share"


@pytest.fixture(scope="module")
def options(build):
    """The long options of each command, as its help has them."""
    def of(*words):
        command = [build / "bin" / "dunnage", *words, "--help"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return sorted(set(re.findall(r"^  (?:-\w, ?)?(--[a-z][a-z-]*)", shown, re.MULTILINE)))

    found = {"": of(), **{command: of(command) for command in COMMANDS}}
    assert "--force" in found["run"] and "--quick" in found["bench"] and "--launch" in found["tune"]
    return found


def text(page):
    """The page without the marks of roff."""
    return re.sub(r"\\f[BIR]", "", page.read_text()).replace("\\-", "-").replace("\\(aq", "'")


def pages(share):
    return sorted((share / "man").glob("man*/*"))


def test_every_option_has_its_place(share, options):
    for command, names in options.items():
        page = text(share / "man" / "man1" / ("-".join(["dunnage", command]).rstrip("-") + ".1"))
        for name in names:
            assert re.search(rf"^(-\w, )?{name}\b", page, re.MULTILINE), f"{command} {name}"
        for other in COMMANDS:
            assert other == command or f"dunnage-{other}(1)" in page
    assert len(pages(share)) == len(COMMANDS) + 2


def test_every_setting_has_its_place(share, root):
    names = re.findall(r'^name = "(\w+)"', (root / "api" / "settings.toml").read_text(), re.MULTILINE)
    page = text(share / "man" / "man7" / "dunnage-settings.7")
    assert len(names) > 20
    assert re.findall(r"^\.SS (\w+)", page, re.MULTILINE) == names


def test_the_page_of_the_commands_is_up_to_date(build, root, tmp_path):
    page = tmp_path / "commands.md"
    subprocess.run([sys.executable, root / "generate" / "command_page.py", build / "bin" / "dunnage", page], check=True)
    assert page.read_text() == (root / "docs" / "reference" / "commands.md").read_text(), "run `make docs`"


@pytest.mark.skipif(not shutil.which("groff"), reason="there is no groff")
def test_groff_has_nothing_to_complain_about(share):
    for page in pages(share):
        said = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", page], capture_output=True, text=True)
        assert (said.returncode, said.stderr) == (0, ""), page


def completed(share, *lines):
    """What bash offers for each line, whose last word is being typed."""
    script = f"source {share}/bash-completion/completions/dunnage\n"
    for line in lines:
        words = line.replace("=", " = ").split(" ")
        script += f"COMP_WORDS=({' '.join(shlex.quote(word) for word in words)})\nCOMP_CWORD={len(words) - 1}\n"
        script += '_dunnage; echo "${COMPREPLY[*]}"\n'
    shown = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert not shown.stderr
    return [set(line.split()) for line in shown.stdout.split("\n")[:-1]]


def test_bash_completes_every_option(share, options):
    assert set(COMMANDS) | set(options[""]) <= completed(share, "dunnage ")[0]
    for command in COMMANDS:
        assert set(options[command]) <= completed(share, f"dunnage {command} --")[0]


def test_bash_completes_values_and_other_commands(share, tmp_path):
    force, report, experiment, memory, program, after = completed(
        share, "dunnage run --force ", f"dunnage run --report={share.parent}/CMakeCa", "dunnage bench noncont",
        "dunnage tune --memory ", "dunnage run --force always ech", "dunnage run -- ech")
    assert force == {"auto", "always", "never"}
    assert report == {f"{share.parent}/CMakeCache.txt"}
    assert experiment == {"noncontiguous-send", "noncontiguous-send-two-hosts"}
    assert memory == {"host", "device"}
    assert "echo" in program and "echo" in after


@pytest.mark.skipif(not shutil.which("zsh"), reason="there is no zsh")
def test_zsh_can_read_its_file(share):
    subprocess.run(["zsh", "-n", share / "zsh" / "site-functions" / "_dunnage"], check=True)


@pytest.mark.skipif(not shutil.which("fish"), reason="there is no fish")
def test_fish_completes(share):
    script = f"source {share}/fish/vendor_completions.d/dunnage.fish\n"
    script += "complete -C 'dunnage '; complete -C 'dunnage run --fo'"
    shown = subprocess.run(["fish", "-N", "-c", script], capture_output=True, text=True, check=True).stdout
    assert {"--force", *COMMANDS} <= {line.split("\t")[0] for line in shown.splitlines()}
