"""dunnage.bench.pack_device, from canned records as bench_pack_device writes them."""

import pytest

from dunnage.bench.experiment import load
from dunnage.bench.figure import verdicts
from dunnage.bench.home import experiment_files, find_home
from dunnage.bench.pack_device.plot import curves, shapes
from dunnage.bench.pack_device.report import device_table
from dunnage.bench.pack_device.results import device_results
from dunnage.bench.pack_device.summary import summarize_device
from dunnage.bench.runner import Run

US, MIB = 1e-6, 1 << 20
[PATH] = [path for path in experiment_files(find_home()) if path.stem == "pack_device"]
CRITERIA = load(PATH).criteria


def record(
    pattern, kind="box", block=64, payload=8 * MIB, operation="pack", mode="cold", start="zero", wrong=(), **times
):
    """`times` are microseconds of one sample, or of several; names have _ for the blank."""
    times = {
        "empty": 8,
        "read_probe": 18,
        "document": 40,
        "memcpy": 400,
        "dunnage_v_hv": 20,
        "dunnage_subarray": 20,
        **times,
    }
    if operation == "unpack":
        times.setdefault("write_probe", times["read_probe"])
    series = {}
    for name, values in times.items():
        name = name.replace("_", " ", 1)
        values = values if isinstance(values, list) else [values] * 11
        series[name] = {"samples": [value * US for value in values], "verified": name not in wrong}
        if name.startswith("dunnage"):
            series[name + ", synchronised"] = {"samples": [(value + 1) * US for value in values]}
    return {
        "record": "result",
        "pattern": pattern,
        "kind": kind,
        "block": block,
        "payload": payload,
        "operation": operation,
        "mode": mode,
        "start": start,
        "traffic": 2 * payload,
        "skipped": {},
        "series": series,
    }


def results(*records):
    header = {"copy_bandwidth": 4e12, "not measured": {}}
    return device_results(Run(records=[("openmpi", one) for one in records], headers={"openmpi": header}))


def figure(name, *records, mode="cold", operation="pack"):
    found = summarize_device(results(*records), CRITERIA)
    [one] = [one for one in found if (one.name, one.mode, one.operation) == (name, mode, operation)]
    return one


def test_the_limit_is_a_launch_and_the_larger_of_traffic_and_probe():
    [slow_probe] = results(record("a", read_probe=18))
    assert slow_probe.limit == pytest.approx(18 * US)
    [traffic] = results(record("b", read_probe=9))
    assert traffic.limit == pytest.approx(8 * US + 16 * MIB / 4e12)


def test_an_unpack_is_held_against_the_probe_that_writes():
    [unpack] = results(record("a", operation="unpack", read_probe=18, write_probe=38))
    assert unpack.limit == pytest.approx(38 * US)


def test_there_is_no_limit_from_the_cache_nor_without_kernels():
    [warm] = results(record("a", mode="warm"))
    assert warm.limit is None and warm.share_of_limit is None
    without = record("b")
    del without["series"]["empty"], without["series"]["read probe"]
    [bare] = results(without)
    assert bare.limit is None and "-" in device_table([bare])


def test_the_slowest_description_counts():
    one = figure("limit, rows of 8 bytes and more", record("a", dunnage_subarray=36), record("b"))
    assert (one.value, one.pattern, one.met) == (pytest.approx(0.5), "a", False)


@pytest.mark.parametrize(
    "block, kind, name, share",
    [
        (8, "box", "limit, rows of 8 bytes and more", 0.8),
        (4, "box", "limit, rows of less than 8 bytes", 0.6),
        (8, "list", "limit, lists of 8-byte blocks", 0.5),
        (8, "vector", "limit, rows of 8 bytes and more", 0.8),
    ],
)
def test_what_is_asked_depends_on_the_rows(block, kind, name, share):
    for factor, met in ((0.99, True), (1.01, False)):
        time = 18 / share * factor
        one = figure(name, record("a", kind, block, dunnage_v_hv=time, dunnage_subarray=time))
        assert one.met is met


def test_small_cases_do_not_count_for_the_limit():
    names = {one.name for one in summarize_device(results(record("a", payload=8 * MIB - 1)), CRITERIA)}
    assert not any(name.startswith("limit") for name in names)


def test_descriptions_of_a_box_are_compared():
    assert figure("descriptions of one box differ by", record("a", dunnage_subarray=20.5)).met is True
    one = figure("descriptions of one box differ by", record("a", dunnage_subarray=21))
    assert (one.value, one.met) == (pytest.approx(0.05), False)


@pytest.mark.parametrize("time, met", [(9.9, True), (10.1, False)])
def test_shapes_of_1_mib_are_held_against_a_launch(time, met):
    shape = record("a", payload=MIB, dunnage_v_hv=time, dunnage_subarray=time)
    assert figure("1 MiB shapes, over launch, us", shape).met is met
    waited = figure("1 MiB shapes, over launch, waited for once more, us", shape)
    assert waited.value == pytest.approx(time - 7)


@pytest.mark.parametrize("time, met", [(19, True), (21, False)])
def test_rows_of_one_byte_have_a_bound_of_their_own(time, met):
    shape = record("a", block=1, payload=MIB, dunnage_v_hv=time, dunnage_subarray=time)
    assert figure("1 MiB of 1-byte rows, us", shape).met is met


@pytest.mark.parametrize("time, met", [(10.9, True), (11.1, False)])
def test_a_call_is_held_against_a_bare_kernel(time, met):
    small = record("a", payload=1024, document=10, dunnage_v_hv=time, dunnage_subarray=time)
    assert figure("call over a bare kernel, up to 64 KiB, us", small).met is met


@pytest.mark.parametrize("time, met", [(22.9, True), (23.1, False)])
def test_unpack_is_held_against_pack_of_the_same_start(time, met):
    unpack = record("a", operation="unpack", start="odd", dunnage_v_hv=time, dunnage_subarray=time)
    one = figure(
        "unpack over pack, time", record("a", start="odd"), record("a", dunnage_v_hv=1), unpack, operation="unpack"
    )
    assert (one.met, one.pattern) == (met, "a, start odd")


def test_a_copy_that_is_faster_is_found_unless_by_chance():
    slower = figure("cases slower than CUDA's copy", record("a", memcpy=19.9), record("b"))
    assert (slower.value, slower.pattern, slower.met) == (1, "a", False)
    chance = [19.0, 21.0] * 5 + [19.0]
    assert figure("cases slower than CUDA's copy", record("a", memcpy=chance)).met is True


def test_too_few_samples_decide_nothing():
    few = record("a", memcpy=[10, 10, 10], dunnage_v_hv=[20, 20, 20], dunnage_subarray=[20, 20, 20])
    assert figure("cases slower than CUDA's copy", few).met is None


def test_verdicts_say_met_or_missed_with_the_number():
    text = verdicts(summarize_device(results(record("a", dunnage_subarray=36)), CRITERIA))
    assert "MISSED limit, rows of 8 bytes and more: 0.5, asked at least 0.8 (openmpi, pack, cold)" in text
    assert "met    cases slower than CUDA's copy: 0, asked at most 0" in text


def test_wrong_series_are_named():
    [one] = results(record("a", wrong={"dunnage subarray", "document"}))
    assert sorted(one.wrong) == ["document", "dunnage subarray"]
    assert "NO: " in device_table([one])


def test_one_wrong_round_is_enough():
    [one] = results(record("a"), record("a", wrong={"dunnage v_hv"}))
    assert one.wrong == ["dunnage v_hv"] and len(one.series["memcpy"]["samples"]) == 22


def test_without_dunnage_nothing_is_summarized():
    alone = record("a")
    alone["series"] = {name: one for name, one in alone["series"].items() if not name.startswith("dunnage")}
    assert summarize_device(results(alone), CRITERIA) == []


def test_the_picture_has_the_boxes_of_one_size():
    found = results(
        record("a", block=1, payload=MIB),
        record("b", block=2, payload=MIB),
        record("c", block=64),
        record("a", block=1, payload=MIB, start="odd"),
    )
    drawn = shapes(found)
    assert [one.pattern for one in drawn] == ["a", "b"]
    lines = curves(drawn)
    assert {"dunnage v_hv", "document", "memcpy", "limit", "empty"} == set(lines) - {"dunnage subarray"}
    assert lines["document"] == [(1, pytest.approx(40)), (2, pytest.approx(40))]


def test_the_experiment_has_the_documents_shapes():
    for quick in (False, True):
        experiment = load(PATH, quick)
        assert experiment.repetitions["samples"] >= 10 and experiment.repetitions["warm_ups"] >= 1
        assert len(set(experiment.cases)) == len(experiment.cases)
    cases = load(PATH).cases
    assert {f"box {2 ** i}x1024x{2 ** (10 - i)}" for i in range(11)} <= set(cases)
    assert {f"box {2 ** i}x1024x1" for i in range(10)} <= set(cases)
