"""dunnage explain: what becomes of a datatype."""

import json
import re

import pytest

from model import prices, write

NAMES = (
    "binomial",
    "scatter-ring",
    "scatter-open-ring",
    "scatter-doubling",
    "chain",
    "binary-tree",
    "circulant",
)  # of broadcasts


@pytest.mark.parametrize(
    "text",
    [
        "vector(2,1,-1152921504606846976,double)",
        "hvector(2,1,-9223372036854775808,byte)",
        "struct([1,1],[-9223372036854775800,0],[byte,double])",
    ],
)
def test_what_does_not_fit_63_bits_is_one_line(dunnage, text):
    run = dunnage("explain", text)
    assert run.returncode == 2 and run.stdout == ""
    assert run.stderr == "dunnage explain: the type's size or displacements do not fit 63 bits\n"


def test_mpis_own_spelling(dunnage):
    def layout(text):
        run = dunnage("explain", text)
        assert run.returncode == 0, run.stderr
        return [line for line in run.stdout.splitlines() if line.startswith(("layout", "bytes"))]

    assert layout("MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &column);") == layout("vector(4,1,2,double)")


def test_deep_types(dunnage):
    def nested(depth):
        return dunnage("explain", "dup(" * depth + "vector(3,1,2,double)" + ")" * depth)

    assert "verified         yes" in nested(999).stdout
    for depth in (1000, 5000, 16000):
        run = nested(depth)
        assert run.returncode == 2 and run.stdout == "" and "nested more than 1000 deep" in run.stderr


def test_many_messages_of_a_broadcast_are_not_counted(dunnage):
    run = dunnage("explain", "bcast", "--ranks", 4096, "--bytes", "1T")
    assert run.returncode == 0
    told = {line.split()[0]: line.split()[1] for line in run.stdout.splitlines() if line.split()[:1]}
    assert told["chain"] == "-" and int(told["binomial"]) == 4095


def test_device_memory(dunnage):
    out = dunnage("explain", "--memory", "device", "subarray([64,64,64],[64,64,1],[0,0,3],C,double)").stdout
    assert "dense_pack_w8" in out and "words of 8 bytes" in out and "blocks of 256 threads" in out
    assert "predicted pack" in out and "limit" in out


def test_a_transpose_goes_through_tiles(dunnage):
    out = dunnage("explain", "--memory", "device", "resized(0,8,vector(512,1,512,double))", "--count", "512").stdout
    assert "tile_pack_w8" in out and "tile_unpack_w8" in out


def test_equal_descriptions_have_equal_kernels(dunnage):
    texts = ["hvector(30,1,4096,vector(20,100,1024,byte))", "subarray([30,4,1024],[30,4,100],[0,0,0],C,byte)"]
    lines = [
        [
            line
            for line in dunnage("explain", "--memory", "device", text).stdout.splitlines()
            if line.startswith(("pack kernel", "unpack kernel"))
        ]
        for text in texts
    ]
    assert lines[0][0].split(":")[0] == "pack kernel      dense_pack_w4_v2_d3_t0_i32" and len(lines[1]) == 2


def test_contiguous_data_is_copied(dunnage):
    assert "the driver's copy" in dunnage("explain", "--memory", "device", "contiguous(100,double)").stdout


def test_who_predicts(dunnage, tmp_path):
    def predictions(**variables):
        run = dunnage("explain", "vector(4096,1,2,double)", **variables)
        return [line for line in run.stdout.splitlines() if line.startswith("predicted")], run.stderr

    lines, errors = predictions(XDG_CACHE_HOME=tmp_path)
    assert (
        "built-in figures" in lines[0]
        and [line[17:33].strip() for line in lines[1:]] == ["Open MPI"] * 2 + ["MPICH"] * 2
    )
    file = write(tmp_path / "m.json", [("Intel MPI", 2021, 18)], **prices(0, 1000))
    lines, errors = predictions(DUNNAGE_MODEL=file)
    assert lines[0] == f"predicted by     {file}, measured 2026-11-21T20:00:00+00:00"
    assert [line.split() for line in lines[2:]] == [
        "predicted send Intel MPI 2021.18 Dunnage 0 s, the MPI 4.1 ms: accelerated".split()
    ]
    file.write_text("{")
    lines, errors = predictions(DUNNAGE_MODEL=file)
    assert "built-in figures" in lines[0] and str(file) in errors


def test_ways_of_messages_in_host_memory(dunnage, tmp_path):
    def told(text, **variables):
        lines = dunnage("explain", text, **variables).stdout.splitlines()
        found = [re.fullmatch(r"way .*(within a host|to the rank itself): (.*)", line) for line in lines]
        return {one[1]: one[2] for one in found if one}

    # Packing is free and the MPI slow, so that only the length decides.
    file = write(tmp_path / "m.json", [("Intel MPI", 2021, 18)], **prices(0, 1000))
    short = told("vector(100,1,2,double)", DUNNAGE_MODEL=file, DUNNAGE_TICKETS="always")
    assert set(short) == {"within a host", "to the rank itself"} and set(short.values()) == {
        "packed by Dunnage, and sent by the MPI"
    }
    large = told("vector(100000,1,2,double)", DUNNAGE_MODEL=file, DUNNAGE_TICKETS="always")
    assert large["within a host"].startswith("ticket") and large["to the rank itself"].startswith("self")
    assert set(told("vector(100000,1,2,double)", DUNNAGE_MODEL=file, DUNNAGE_TICKETS="off").values()) == set(
        short.values()
    )


COLUMN = "vector(4096,1,2,double)"  # 32 KiB in blocks of 8 bytes, spread over twice as much


def trial(call="pack", data="up to 32 KiB, blocks of 8 B, rows[8]", over=True, choice="Dunnage", **changes):
    seconds = changes.pop("seconds", {"the MPI": 70e-6, "Dunnage": 5e-6})
    return {"call": call, "data": data, "choice": choice, "over": over, "seconds": seconds, **changes}


@pytest.fixture
def told(dunnage, tmp_path):
    """Explains COLUMN with a report that has these trials; returns the lines about them. Packing a
    block is predicted to take 1 ns by Dunnage and 17 ns by the MPI."""
    model = write(tmp_path / "m.json", [("Open MPI", 4, 1)], **prices(1, 17))

    def call(*trials, text=COLUMN, **changes):
        report = {"mpi": "Open MPI v4.1.4", "settings": {}, "ranks": 2, "calls": {}}
        path = tmp_path / "app.json"
        path.write_text(json.dumps({**report, "trials": list(trials), **changes}))
        run = dunnage("explain", text, "--report", path, DUNNAGE_MODEL=model)
        assert run.returncode == 0, run.stderr
        lines = run.stdout.splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("report"))
        last = next(i for i, line in enumerate(lines) if line.startswith("measured pack"))
        assert lines[first] == f"report           {path}: 2 ranks of Open MPI v4.1.4"
        return [re.sub(" +", " ", line) for line in lines[first + 1 : last]]

    return call


def test_what_a_program_has_tried(told):
    assert told(trial(), trial("unpack", over=False)) == [
        "tried pack up to 32 KiB, blocks of 8 B, rows[8]: Dunnage does these calls",
        " the MPI 70 us, predicted 69.6 us",
        " Dunnage 5 us, predicted 4.1 us",
        "tried unpack up to 32 KiB, blocks of 8 B, rows[8]: Dunnage does these calls; too few were made to choose",
        " the MPI 70 us, predicted 69.6 us",
        " Dunnage 5 us, predicted 4.1 us",
    ]


def test_predictions_that_are_far_off_are_pointed_out(told):
    seconds = {"the MPI": 10e-6, "Dunnage": 9e-6, "Dunnage, stores past the caches": 20e-6}
    assert told(trial(seconds=seconds))[1:] == [
        " the MPI 10 us, predicted 69.6 us DIFFERS: predicted 3.5 times as long",
        " Dunnage 9 us, predicted 4.1 us DIFFERS: 2.2 times as long as predicted",
        " Dunnage, stores past the caches 20 us",
    ]
    # A trial is about data of half the size, too: 2.1 us are as predicted for some of them.
    assert "DIFFERS" not in " ".join(told(trial(seconds={"the MPI": 36e-6, "Dunnage": 1.1e-6})))


def test_messages_are_compared_by_who_is_faster(told):
    """Their trials measure whole calls, and their prices are for what packing adds."""
    slower = {"the MPI": 50e-6, "Dunnage": 75e-6}
    lines = told(trial("send", seconds=slower, choice="the MPI"), trial("receive"))
    assert lines[1:4] == [
        " the MPI 50 us",
        " Dunnage 75 us",
        " DIFFERS: Dunnage was predicted to be faster, and the MPI was, 1.50 times",
    ]
    assert len(lines) == 7 and "DIFFERS" not in " ".join(lines[4:])
    assert told(trial("nonblocking send", seconds=slower, choice="the MPI")) == [
        lines[0].replace("tried send", "tried nonblocking send"),
        *lines[1:4],
    ]


def test_only_trials_of_such_data_are_shown(told):
    others = [trial(data=f"up to {size} KiB, blocks of 8 B, rows[8]") for size in (16, 64)]
    lines = told(*others, trial(spread=64), trial(mixed=True))
    assert lines[0] == "tried nothing about up to 32 KiB, blocks of 8 B, rows[8]; the report has:"
    assert lines[1:] == [
        " up to 16 KiB, blocks of 8 B, rows[8]",
        " up to 64 KiB, blocks of 8 B, rows[8]",
        " up to 32 KiB, blocks of 8 B, rows[8]",
    ]
    assert len(told(*others, trial(spread=2, mixed=False))) == 3
    [line] = told()
    assert line.startswith("tried nothing: the program made no such calls, or had DUNNAGE_TRIALS=off")


def test_a_report_of_another_machine_is_said(told, dunnage, tmp_path):
    told(trial())
    report = json.loads((tmp_path / "app.json").read_text())
    (tmp_path / "app.json").write_text(json.dumps({**report, "machine": "a mainframe, 3 cores"}))
    out = dunnage("explain", COLUMN, "--report", tmp_path / "app.json").stdout
    assert "from another machine (a mainframe, 3 cores); predictions are for this one" in out


@pytest.mark.parametrize(
    "text, says",
    [
        (None, "cannot be read"),
        ("{", "is not JSON"),
        ("{}", "no report of Dunnage"),
        ("[]", "no report of Dunnage"),
        ('{"ranks": 1, "mpi": "x", "trials": [3]}', "no report of Dunnage"),
    ],
)
def test_a_file_that_is_no_report_is_one_line(dunnage, tmp_path, text, says):
    path = tmp_path / "app.json"
    if text is not None:
        path.write_text(text)
    run = dunnage("explain", COLUMN, "--report", path)
    assert run.returncode == 2 and run.stderr.startswith(f"dunnage explain: {path} ") and says in run.stderr
    assert "dunnage run --report=FILE.json" in run.stderr and len(run.stderr.splitlines()) == 1


def test_reports_are_about_host_memory(dunnage, tmp_path):
    for words in (["--memory", "device", COLUMN], ["bcast"]):
        run = dunnage("explain", *words, "--report", tmp_path / "app.json")
        assert run.returncode == 2 and "--report" in run.stderr


def test_a_measurement_far_from_its_prediction_is_pointed_out(dunnage, tmp_path):
    def lines(price):
        model = write(tmp_path / "m.json", [("Open MPI", 4, 1)], **prices(price, 17))
        out = dunnage("explain", COLUMN, DUNNAGE_MODEL=model).stdout
        return [line for line in out.splitlines() if "DIFFERS" in line]

    slow = lines(1000)
    assert len(slow) == 2 and slow[0].startswith("measured pack    DIFFERS: predicted ")
    assert slow[0].endswith("times as long, 4.1 ms by the figures of Open MPI 4.1; the caches were warm")
    assert "times as long as predicted, 40.96 ns" in lines(1e-2)[1] or "41 ns" in lines(1e-2)[1]


def test_unknown_memory(dunnage):
    run = dunnage("explain", "--memory", "disk", "double")
    assert run.returncode != 0 and "disk" in run.stderr


def ways(result):
    assert result.returncode == 0, result.stderr
    found = [re.fullmatch(r"(?:message|Open MPI 4\.1) +([^:]+): (.*)", text) for text in result.stdout.splitlines()]
    return {one[1]: one[2] for one in found if one}


def test_ways_of_messages_on_device_memory(dunnage, build, tmp_path):
    if not (build / "lib/dunnage/sim/libcuda.so.1").exists():
        pytest.skip("built without CUDA")
    direct, elsewhere, itself = (
        "on one host, where `dunnage info` says direct",
        "on one host, elsewhere",
        "to the rank itself",
    )
    hosts, aware = "between hosts", "not direct, with an MPI that reaches GPUs"
    large = ways(dunnage("explain", "--memory", "device", "vector(100000,1,2,double)"))
    assert set(large) == {direct, elsewhere, itself, hosts, aware}
    assert large[itself].startswith("self:")
    assert (
        large[direct].startswith("direct:")
        and large[elsewhere].startswith("rings")
        and large[hosts].startswith("staged")
        and "packed in device" in large[aware]
    )
    listed = ways(dunnage("explain", "--memory", "device", "indexed([9000,3,5000],[0,10000,20000],double)"))
    assert listed[direct].startswith("direct, from a packed copy")
    assert ways(dunnage("explain", "--memory", "device", "vector(10,1,2,double)"))[direct].startswith("direct:")
    assert ways(dunnage("explain", "--memory", "device", "vector(1,1,2,int)"))[direct].startswith(
        "staged in host memory: a short message"
    )
    staged = ways(dunnage("explain", "--memory", "device", "vector(100000,1,2,double)", DUNNAGE_GPU_PATH="staged"))
    assert "DUNNAGE_GPU_PATH=staged" in staged[direct] and staged[itself].startswith("staged") and aware not in staged
    model = write(tmp_path / "model.json", [("Open MPI", 4, 1)], gpu={"direct": 1 << 30, "shared": 1 << 30})
    assert ways(dunnage("explain", "--memory", "device", "vector(100000,1,2,double)", DUNNAGE_MODEL=model))[
        direct
    ].startswith("staged")


def test_a_broadcast_on_one_host(dunnage):
    out = dunnage("explain", "bcast", "--ranks", "129", "--bytes", "1MiB").stdout
    assert "broadcast of 1 MiB among 129 ranks on 1 host\n" in out and "memory that the ranks share" in out
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.startswith("  ")}
    scattered = 128
    assert int(rows["scatter-ring"][1]) == 129 * 128 + scattered
    saved = sum(bin(rank).count("1") for rank in range(129))
    assert int(rows["scatter-open-ring"][1]) == 129 * 128 - saved + scattered
    assert f"saves {saved} of the {129 * 128} messages" in out
    assert rows["binomial"][1:4] == ["128", "128", "MiB"]
    assert "scatter-doubling" not in rows, "129 is no power of two"


def test_why_a_broadcast_goes_as_it_does(dunnage, tmp_path):
    def lines(*words):
        out = dunnage("explain", "bcast", *words, XDG_CACHE_HOME=tmp_path).stdout
        return [line.strip() for line in out.splitlines()]

    def predicted(rows):
        return {
            row.split()[0]: float(row.split()[-2]) for row in rows if row.endswith(" us") and row.split()[0] in NAMES
        }

    alone = lines("--ranks", "129", "--bytes", "1MiB")
    assert "figures built in; `dunnage tune --collective bcast` measures this machine's" in alone
    assert "the window: call 3.00 us + 1 MiB x (byte 0.1667 ns + 128 readers x 0 ns) = 177.8 us" in alone
    best = min((time, name) for name, time in predicted(alone).items())
    assert (
        f"reason: within a host Dunnage has one way; predicted {best[0] / 177.8:.2f} times faster than "
        f"the best by messages, {best[1]} ({best[0]} us)" in alone
    )

    several = lines("--ranks", "16", "--hosts", "16", "--bytes", "256K")
    times = predicted(several)
    times.pop("scatter-ring")  # never chosen
    [first, second] = sorted(times.items(), key=lambda one: one[1])[:2]
    assert (
        f"reason: {first[0]} is predicted {second[1] / first[1]:.2f} times faster "
        f"than the next, {second[0]} ({second[1]} us)" in several
    )
    assert not [line for line in several if "window" in line], "a rank for each host needs none"


def broadcasts(**changed):
    """Figures that nobody would build in."""
    return {
        "window": {"call": 1000, "byte": 0.5, "reader": 0.125},
        "least_window": 32768,
        "same_host": {"latency": 100, "overhead": 10, "byte": 0.01},
        "other_host": {"latency": 1e6, "overhead": 1e5, "byte": 1e-6},
        **changed,
    }


def test_a_broadcast_by_measured_figures(dunnage, tmp_path):
    file = write(tmp_path / "m.json", [("Open MPI", 4, 1), ("MPICH", 4, 0)], bcast=broadcasts())
    out = dunnage("explain", "bcast", "--ranks", "9", "--bytes", "1M", DUNNAGE_MODEL=file).stdout
    for mpi in ("Open MPI 4.1", "MPICH 4.0"):
        assert (
            f"{mpi}: figures of the window and messages within a host measured: {file}, 2026-11-21T20:00:00+00:00"
            in out
        )
    assert (
        out.count("call 1.00 us + 1 MiB x (byte 0.5 ns + 8 readers x 0.125 ns) = 1573.9 us")
        == out.count("times slower than the best by messages")
        == 2
    )
    out = dunnage("explain", "bcast", "--ranks", "9", "--bytes", "16K", DUNNAGE_MODEL=file).stdout
    assert "left to the MPI, since it is less than 32 KiB" in out
    # Where only messages cost, the whole message goes down a tree; by the built-in figures it does
    # not.
    words = ["explain", "bcast", "--ranks", "32", "--hosts", "16", "--bytes", "1M"]
    out = dunnage(*words, DUNNAGE_MODEL=file).stdout
    assert "figures of the window and messages between hosts measured" in out and "Dunnage: binomial among" in out
    assert "1 reader x 0.125 ns" in out
    assert "Dunnage: binomial" not in dunnage(*words, DUNNAGE_MODEL="none").stdout


def test_a_broadcast_and_a_file_without_such_figures(dunnage, tmp_path):
    file = write(tmp_path / "m.json", [("Open MPI", 4, 1)], **prices(0, 1000))
    run = dunnage("explain", "bcast", "--ranks", "9", "--bytes", "1M", DUNNAGE_MODEL=file)
    assert (
        f"Open MPI 4.1: figures built in; {file} has none of these broadcasts" in run.stdout
        and "= 177.8 us" in run.stdout
    )
    write(file, [("Open MPI", 4, 1)], bcast=broadcasts(least_window=1 << 40))
    assert (
        "left to the MPI, which was as fast"
        in dunnage("explain", "bcast", "--ranks", "9", "--bytes", "1M", DUNNAGE_MODEL=file).stdout
    )
    file.write_text("{")
    run = dunnage("explain", "bcast", "--ranks", "9", "--bytes", "1M", DUNNAGE_MODEL=file)
    assert "figures built in" in run.stdout and str(file) in run.stderr


def test_a_broadcast_on_several_hosts(dunnage):
    out = dunnage("explain", "bcast", "--ranks", "64", "--hosts", "8", "--bytes", "16M").stdout
    assert "among one rank of each host" in out
    assert (
        int({line.split()[0]: line.split() for line in out.splitlines() if line.startswith("  ")}["binomial"][1]) == 7
    )
    assert (
        "left to the MPI, since it is less than 4 KiB"
        in dunnage("explain", "bcast", "--ranks", "64", "--bytes", "1K").stdout
    )
    assert (
        "left to the MPI, since it is more than 1 GiB"
        in dunnage("explain", "bcast", "--ranks", "4", "--bytes", "2G").stdout
    )
    assert (
        "left to the MPI, since it is less than 64 KiB"
        in dunnage("explain", "bcast", "--ranks", "64", "--hosts", "8", "--bytes", "1K").stdout
    )


@pytest.mark.parametrize(
    "words, said",
    [
        (("--ranks", "2", "--hosts", "3"), "2 ranks cannot be on 3 hosts"),
        (("--bytes", "much"), "much"),
        (("--bytes", "2000TiB"), "at most 1 TiB"),
        (("--ranks", "0"), "0"),
    ],
)
def test_broadcasts_that_cannot_be(dunnage, words, said):
    done = dunnage("explain", "bcast", *words)
    assert done.returncode == 2 and said in done.stderr


def as_json(dunnage, *words, **variables):
    run = dunnage("explain", *words, "--json", **variables)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_json_of_a_type(dunnage):
    told = as_json(dunnage, "MPI_Type_vector(1024,1,2,MPI_DOUBLE)", "--count", 3)
    assert told["type"] == "vector(1024,1,2,double)"
    assert (told["size"], told["count"], told["bytes"], told["blocks"]) == (8192, 3, 24576, 3072)
    assert told["extent"] == 8 * 2047 and told["kernel"]["stores"] in ("cached", "streamed")
    assert told["measured"]["verified"] is True and told["measured"]["pack seconds"] > 0
    assert [mpi["mpi"] for mpi in told["mpis"]] == ["Open MPI", "MPICH"]
    for mpi in told["mpis"]:
        pack = mpi["predicted pack"]
        assert pack["accelerated"] in (True, False) and 0 < pack["the MPI's seconds"] < 1
        assert set(mpi["ways"]) == {"within a host", "to the rank itself"}


@pytest.mark.parametrize("text", ["contiguous(4,double)", "contiguous(0,double)"])
def test_json_without_a_kernel(dunnage, text):
    told = as_json(dunnage, text)
    assert told["kernel"] is None and "measured" not in told


def test_json_of_device_memory(dunnage):
    told = as_json(dunnage, "vector(1024,1,2,double)", "--memory", "device")
    assert told["pack"]["launches"][0]["threads of a block"] > 0 and told["unpack"]["predicted seconds"] > 0
    assert "between hosts" in told["ways"]["message"]


def test_json_of_a_broadcast(dunnage):
    told = as_json(dunnage, "bcast", "--ranks", 16, "--hosts", 4, "--bytes", "1MiB")
    [choice] = told["choices"]
    assert (told["bytes"], told["ranks"], told["hosts"]) == (1 << 20, 16, 4)
    names = {one["algorithm"] for one in choice["algorithms"]}
    assert choice["Dunnage"] in names and names <= set(NAMES)
    assert next(one for one in choice["algorithms"] if one["algorithm"] == "binomial")["messages"] == 3
    assert as_json(dunnage, "bcast", "--ranks", 1)["choices"] == []


def test_an_error_prints_no_json(dunnage):
    run = dunnage("explain", "vector(4,1", "--json")
    assert run.returncode == 2 and run.stdout == "" and "expected ','" in run.stderr
