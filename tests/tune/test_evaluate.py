"""From records to figures, with an MPI whose prices are known."""

import random

import numpy
import pytest

from dunnage.tune.evaluate import NEVER, evaluate
from dunnage.tune.table import report
from synthetic import contiguous, cost, figures, header, launches_of, messages, packs, record, references, side

PACK = cost(50, 0.05, 0.01, 0.05), cost(20, 2, 0.02, 0.1)
SEND = side(cost(90, 0.06, 0.01, 0.03), cost(10, 3, 0.005, 0.01), 0.005, 1.5)
RECEIVE = side(cost(40, 0.06, 0.02, 0.03), cost(10, 1, 0.002, 0.01), 0.008, 1.2)
TICKET = cost(600, 0.01, 0.001, 0.002)


def all_records(noise=0.0, send=SEND):
    random.seed(2)
    return packs(*PACK, noise) + references(noise) + messages("send", send, noise) + messages("receive", RECEIVE, noise)


def tuned(noise=0.0, send=SEND, ticket=TICKET, taken=10, **changes):
    records = all_records(noise, send)
    return evaluate(header(**changes), [records], [messages("send", send, noise, ticket)], taken)


def flat(part):
    return [dict(fit.prices) for fit in part.fits]


def test_every_price_is_found():
    found = tuned()
    assert [part.name for part in found.parts] == ["pack", "send", "receive", "ticket"]
    assert flat(found.part("pack"))[0] == pytest.approx(PACK[0], rel=0.01)
    assert flat(found.part("pack"))[1] == pytest.approx(PACK[1], rel=0.01)
    for name, true in (("send", SEND), ("receive", RECEIVE)):
        engine, library = flat(found.part(name))
        assert engine == pytest.approx({**true["engine"], "eager_byte": true["engine_eager_byte"]}, rel=0.05)
        assert library == pytest.approx({**true["library"], "eager_block": true["library_eager_block"]}, rel=0.05)
    assert flat(found.part("ticket")) == [pytest.approx(TICKET, rel=0.05)]
    assert not any(part.refused for part in found.parts) and not found.disturbed
    assert all(part.lost[0] <= part.lost[1] for part in found.parts)


def test_noise_does_not_make_choices_worse():
    found = tuned(0.05)
    assert not any(part.refused for part in found.parts)
    assert flat(found.part("send"))[1]["block"] == pytest.approx(3, rel=0.2)
    assert all(part.lost[0] < 0.05 for part in found.parts)


def measured(seed, **how):
    """What several launches find, whose samples are disturbed."""
    generator = numpy.random.default_rng(seed)
    records, tickets = all_records(), messages("send", SEND, 0, TICKET)
    return evaluate(header(), launches_of(records, generator, **how), launches_of(tickets, generator, **how), 10)


def main_prices_are_found(found, factor):
    """The prices that most of the time is paid for, by Dunnage and by the MPI."""
    for name, way, price, true in [
        ("pack", 0, "far_byte", PACK[0]["far_byte"]),
        ("pack", 1, "block", PACK[1]["block"]),
        ("pack", 1, "far_byte", PACK[1]["far_byte"]),
        ("send", 1, "block", SEND["library"]["block"]),
        ("send", 1, "eager_block", SEND["library_eager_block"]),
        ("receive", 1, "block", RECEIVE["library"]["block"]),
    ]:
        part = found.part(name)
        assert not part.refused, (name, part.refused)
        assert true / factor < part.fits[way].prices[price] < true * factor, (name, way, price)


@pytest.mark.parametrize("seed", range(4))
def test_heavy_tails_hide_no_price(seed):
    """A third of the samples takes up to many times as long. Means would be wrong by much."""
    found = measured(seed, counts=(20, 20), disturbed=0.33, tail=1.1)
    main_prices_are_found(found, 1.15)
    assert all(part.known > 0.8 * len(part.cases) for part in found.parts)


@pytest.mark.parametrize("seed", range(4))
def test_launches_of_several_speeds_hide_no_price(seed):
    """In the second launch everything takes 2.7 times as long."""
    found = measured(seed, counts=(20, 8), slow=(1.0, 2.7), disturbed=0.2)
    main_prices_are_found(found, 1.2)
    slow = "2 of 4 launches were slow: the MPI's own messages took up to 2.7 times as long as in the others"
    assert slow in found.disturbed


@pytest.mark.parametrize("seed", range(4))
def test_the_first_launch_may_be_the_slow_one(seed):
    found = measured(seed, counts=(9, 5, 20), slow=(2.0, 2.0, 1.0), disturbed=0.2)
    main_prices_are_found(found, 1.25)


@pytest.mark.parametrize("seed", range(4))
def test_hopeless_noise_is_said(seed):
    found = measured(seed, counts=(9, 5), disturbed=1.0, tail=0.7)
    for part in found.parts:
        assert part.known < 0.3 * len(part.cases) and f"only {part.known} of {len(part.cases)}" in part.refused
    text = report(found)
    assert text.count("times are known; the built-in prices stay") == 4
    assert "times are not known to 10% and do not count: " in text and "What helps: more time" in text


def test_what_is_not_known_does_not_count():
    """Packing of far data is disturbed beyond hope; the other prices are found nevertheless."""
    records = all_records()
    generator = numpy.random.default_rng(1)
    for one in records:
        if one["kind"] == "pack" and one["far"]:
            for series in one["series"].values():
                series["samples"] = (series["median"] * (1 + 9 * generator.random(11))).tolist()
    found = evaluate(header(), [records], [messages("send", SEND, 0, TICKET)], 10)
    part = found.part("pack")
    assert not part.refused and len(part.cases) - part.known == 8
    assert part.fits[1].prices["block"] == pytest.approx(2, rel=0.02)
    assert part.fits[0].prices["far_byte"] == figures()["engine_pack"]["far_byte"]
    text = report(found)
    assert "? pack: 8 of " in text and "do not count: 4 MiB in blocks of 8, 64, 512, 4096 B" in text
    assert "(0.075)" in text and "0.05 (0.075)" not in text, "a price that was not found has the built-in one alone"


def test_times_without_a_law_leave_the_built_in_figures():
    random.seed(3)

    def noise():
        return [
            record(
                "message",
                size,
                block,
                False,
                0,
                direction,
                dunnage=contiguous(size) + 10 ** random.uniform(0, 6),
                plain=contiguous(size) + 10 ** random.uniform(0, 6),
            )
            for direction in ("send", "receive")
            for size in (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20)
            for block in (8, 64, 512, 2048)
        ]

    found = evaluate(header(), [packs(*PACK) + references() + noise()], [[]], 0)
    assert not found.part("pack").refused
    assert all(part.refused for part in found.parts if part.name != "pack")


def test_too_few_leave_them_too():
    found = evaluate(header(), [packs(*PACK)[:8] + references() + messages("send", SEND)], [], 0)
    assert "only 8 of 8 times" in found.part("pack").refused
    assert "nothing was measured" in found.part("receive").refused
    assert not found.part("send").refused
    assert "pack: only 8 of 8 times are known; the built-in prices stay" in report(found)


def test_choices_that_would_be_worse_are_refused():
    """Dunnage is faster by 5 %, which is less than prices can be trusted for; the built-in ones
    happen to be right."""
    built_in = {**figures(), "library_pack": cost(1e6, 1e6, 1, 1)}
    slower = {name: 1.05 * price for name, price in PACK[0].items()}
    found = evaluate(header(built_in=built_in), [packs(PACK[0], slower) + references()], [], 0)
    part = found.part("pack")
    assert part.lost == (pytest.approx(0.05, rel=0.05), 0) and "built-in prices were better" in part.refused


def alike(built_in):
    """Packing with Dunnage takes a tenth of the MPI's time, whatever the prices are."""
    slow = {name: 10 * price for name, price in PACK[0].items()}
    found = evaluate(header(built_in={**figures(), **built_in}), [packs(PACK[0], slow) + references()], [], 0)
    text = report(found)
    assert found.part("pack").alike
    assert "choices by the measured and by the built-in prices cannot be told apart (0.0% and 0.0% longer" in text
    return found.part("pack"), text


def test_choices_that_cannot_be_told_apart_are_said():
    part, text = alike({"engine_pack": cost(1, 1, 1, 1), "library_pack": cost(20, 20, 20, 20)})
    assert not part.refused and "the measured prices are used, because they predict the times better" in text


def test_built_in_prices_that_are_right_stay(monkeypatch):
    monkeypatch.setattr("dunnage.tune.evaluate.TOLERANCES", (1e-9,))  # this fit is worse than exact prices
    part, text = alike({"engine_pack": PACK[0], "library_pack": {name: 10 * price for name, price in PACK[0].items()}})
    assert part.refused and "the built-in prices stay\n" in text


def test_tickets_that_never_gain_are_never_taken():
    part = tuned(ticket=cost(10_000_000, 0, 0, 0)).part("ticket")
    assert part.least == NEVER and not part.refused


def test_tickets_are_taken_from_where_they_gain():
    """A call of 20 us: not worth it where the MPI itself needs less."""
    part = tuned(ticket=cost(20_000, 0, 0, 0), send=side(cost(90, 9, 0.01, 0.03), cost(10, 9, 0, 0), 0.005, 9)).part(
        "ticket"
    )
    assert part.lost[0] < 0.01 and not part.refused
    assert part.fits[0].prices["call"] == pytest.approx(20_000, rel=0.05)


def test_tickets_that_did_not_travel_say_nothing():
    assert tuned(taken=0).part("ticket").refused == "no message went by ticket"


def test_between_hosts_there_are_none():
    found = tuned(peers="other_host", hosts=["a", "b"])
    assert [part.name for part in found.parts] == ["pack", "send", "receive"]


def test_launches_of_two_speeds_say_nothing_of_tickets():
    records, tickets = all_records(), messages("send", SEND, 0, TICKET)
    for one in tickets:
        for series in one["series"].values():
            series["samples"] = [1.6 * sample for sample in series["samples"]]
    found = evaluate(header(), [records], [tickets], 10)
    assert found.part("ticket").refused == "the MPI itself took 1.6 times as long in one launch as in another"
    assert "1 of 2 launches were slow: the MPI's own messages took up to 1.6 times as long" in found.disturbed[0]
    assert not found.part("send").refused


def test_ranks_without_cores_and_hosts_that_differ_are_named():
    text = " ".join(tuned(cores=["0", "-1"], machines=["m", "n"]).disturbed)
    assert "no core each: 0, -1" in text and "the hosts differ: m and n" in text


def test_what_was_not_measured_keeps_its_price():
    random.seed(2)
    near = [one for one in packs(*PACK) if not one["far"]]
    found = evaluate(header(), [near + references()], [], 0)
    assert found.part("pack").fits[0].prices["far_byte"] == figures()["engine_pack"]["far_byte"]
