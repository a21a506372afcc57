"""From records to figures, with an MPI whose prices are known."""

import random

import pytest

from dunnage.tune.evaluate import NEVER, disturbances, evaluate
from synthetic import contiguous, cost, figures, header, messages, packs, record, references, side

PACK = cost(50, 0.05, 0.01, 0.05), cost(20, 2, 0.02, 0.1)
SEND = side(cost(90, 0.06, 0.01, 0.03), cost(10, 3, 0.005, 0.01), 0.005, 1.5)
RECEIVE = side(cost(40, 0.06, 0.02, 0.03), cost(10, 1, 0.002, 0.01), 0.008, 1.2)
TICKET = cost(600, 0.01, 0.001, 0.002)


def tuned(noise=0.0, send=SEND, ticket=TICKET, taken=10, **changes):
    random.seed(2)
    records = (
        packs(*PACK, noise) + references(noise) + messages("send", send, noise) + messages("receive", RECEIVE, noise)
    )
    return evaluate(header(**changes), records, messages("send", send, noise, ticket), taken)


def flat(part):
    return [dict(fit.prices) for fit in part.fits]


def test_every_price_is_found():
    found = tuned()
    assert [part.name for part in found.parts] == ["pack", "send", "receive", "ticket"]
    assert flat(found.part("pack"))[0] == pytest.approx(PACK[0], rel=0.01)
    assert flat(found.part("pack"))[1] == pytest.approx(PACK[1], rel=0.01)
    for name, true in (("send", SEND), ("receive", RECEIVE)):
        engine, library = flat(found.part(name))
        assert engine == pytest.approx({**true["engine"], "eager_byte": true["engine_eager_byte"]}, rel=0.01)
        assert library == pytest.approx({**true["library"], "eager_block": true["library_eager_block"]}, rel=0.01)
    assert flat(found.part("ticket")) == [pytest.approx(TICKET, rel=0.01)]
    assert not any(part.refused for part in found.parts) and not found.disturbed
    assert all(part.lost[0] <= part.lost[1] for part in found.parts)


def test_noise_does_not_make_choices_worse():
    found = tuned(0.05)
    assert not any(part.refused for part in found.parts)
    assert flat(found.part("send"))[1]["block"] == pytest.approx(3, rel=0.2)
    assert all(part.lost[0] < 0.05 for part in found.parts)


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

    found = evaluate(header(), packs(*PACK) + references() + noise(), [], 0)
    assert not found.part("pack").refused
    assert all(part.refused for part in found.parts if part.name != "pack")


def test_too_few_leave_them_too():
    found = evaluate(header(), packs(*PACK)[:8] + references() + messages("send", SEND), [], 0)
    assert "only 8 measurements" in found.part("pack").refused and "only 0" in found.part("receive").refused
    assert not found.part("send").refused


def test_choices_that_would_be_worse_are_refused():
    """Dunnage is faster by 5 %, which is less than prices can be trusted for; the built-in ones
    happen to be right."""
    built_in = {**figures(), "library_pack": cost(1e6, 1e6, 1, 1)}
    slower = {name: 1.05 * price for name, price in PACK[0].items()}
    found = evaluate(header(built_in=built_in), packs(PACK[0], slower) + references(), [], 0)
    part = found.part("pack")
    assert part.lost == (pytest.approx(0.05), 0) and "built-in figures were better" in part.refused


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


def spread(records, share):
    """Some of the series, disturbed in half of their samples."""
    changed = random.Random(4).sample(range(len(records)), round(share * len(records)))
    for place in changed:
        for series in records[place]["series"].values():
            series["samples"] = [series["median"]] * 2 + [2 * series["median"]] * 2
    return records


def test_disturbances_are_named():
    assert disturbances([("one", messages("send", SEND)), ("two", references())]) == []
    slow = references()
    slow[-1]["series"]["plain"]["median"] *= 2
    times, copies = disturbances([("one", references()), ("two", spread(messages("send", SEND), 0.3) + slow)])
    assert times.startswith("two: 27% ") and "of the message times spread by more than 30%" in times
    assert copies == "the same copy of 4 KiB took 2.0 times as long in one launch as in the other"


@pytest.mark.parametrize("share, refused", [(0.3, False), (0.8, True)])
def test_too_many_disturbed_times_leave_the_built_in_figures(share, refused):
    records = packs(*PACK) + references() + spread(messages("send", SEND) + messages("receive", RECEIVE), share)
    found = evaluate(header(), records, messages("send", SEND, 0, TICKET), 10)
    assert [bool(found.part(name).refused) for name in ("pack", "send", "receive", "ticket")] == [
        False,
        refused,
        refused,
        refused,
    ]
    assert any("of the message times spread" in line for line in found.disturbed)


def test_launches_of_two_speeds_say_nothing_of_tickets():
    records = packs(*PACK) + references() + messages("send", SEND) + messages("receive", RECEIVE)
    tickets = messages("send", SEND, 0, TICKET)
    for one in tickets:
        for series in one["series"].values():
            series["median"] *= 1.6
    found = evaluate(header(), records, tickets, 10)
    assert found.part("ticket").refused == "the MPI itself took 1.6 times as long in one launch as in the other"
    assert not found.part("send").refused


def test_ranks_without_cores_and_hosts_that_differ_are_named():
    text = " ".join(tuned(cores=["0", "-1"], machines=["m", "n"]).disturbed)
    assert "no core each: 0, -1" in text and "the hosts differ: m and n" in text


def test_what_was_not_measured_keeps_its_price():
    random.seed(2)
    near = [one for one in packs(*PACK) if not one["far"]]
    found = evaluate(header(), near + references(), [], 0)
    assert found.part("pack").fits[0].prices["far_byte"] == figures()["engine_pack"]["far_byte"]
