"""Records as bench_tune writes them, of an MPI whose prices are known."""

import random

from dunnage.tune.inputs import message_rows, pack_row, side_fits

BLOCKS = (8, 64, 512, 4096)
SIZES = [1 << power for power in range(10, 22)]


def cost(call, block, byte, far_byte):
    return {"call": call, "block": block, "byte": byte, "far_byte": far_byte}


def side(engine, library, engine_eager_byte, library_eager_block):
    return {
        "engine": engine,
        "library": library,
        "engine_eager_byte": engine_eager_byte,
        "library_eager_block": library_eager_block,
    }


def figures():
    """Built-in ones, of an MPI that there is not."""
    one = side(cost(60, 0.3, 0.012, 0.03), cost(0, 1.35, 0, 0), 0.01, 2.2)
    messages = {"send": one, "receive": one, "eager_limit": 4096}
    return {
        "engine_pack": cost(45, 1, 0.018, 0.075),
        "library_pack": cost(25, 1.7, 0.018, 0.13),
        "far_message": 512 << 10,
        "least_ticket": 128 << 10,
        "ticket": cost(0, 0, 0, 0),
        "messages": {"same_host": messages, "other_host": messages},
        "bcast": {
            "window": {"call": 3000, "byte": 1 / 6, "reader": 0},
            "least_window": 4096,
            "same_host": {"latency": 600, "overhead": 300, "byte": 0.2},
            "other_host": {"latency": 20000, "overhead": 3000, "byte": 1 / 1.2},
        },
    }


def header(**changes):
    return {
        "record": "header",
        "library": "Open MPI",
        "major": 4,
        "minor": 1,
        "dunnage": True,
        "peers": "same_host",
        "margin": 1.1,
        "hosts": ["a", "a"],
        "cores": ["0", "1"],
        "machines": ["m", "m"],
        "built_in": figures(),
        "machine": {"processor": "P", "cores": 2, "second_level_cache": 1 << 20},
        "model_file": "",
        **changes,
    }


def series(time, noise=0.0):
    """Of a time in nanoseconds, disturbed by a factor of 1 +- noise."""
    median = 1e-9 * time * random.uniform(1 - noise, 1 + noise)
    return {"median": median, "samples": [median, median, median] + [median * (1 + 0.002 * k) for k in range(8)]}


def launches_of(records, generator, counts=(9, 5), slow=(1.0, 1.0), disturbed=0.0, tail=1.5):
    """Makes launches of records whose times are exact: so many samples in each.

    A sample takes longer by a few percent; the share `disturbed` of the samples takes longer by a
    factor with a heavy tail (Pareto). `slow` is the factor of each launch.
    """
    found = []
    for count, factor in zip(counts, slow):
        launch = []
        for one in records:
            several = {}
            for name, exact in one["series"].items():
                samples = exact["median"] * factor * (1 + generator.gamma(2, 0.01, count))
                hit = generator.random(count) < disturbed
                samples[hit] *= 1 + generator.pareto(tail, count)[hit]
                several[name] = {"samples": samples.tolist()}
            launch.append({**one, "series": several})
        found.append(launch)
    return found


def record(kind, size, block, far, noise, direction=None, **times):
    """Times in nanoseconds, each disturbed by a factor of 1 +- noise."""
    found = {
        "record": "result",
        "kind": kind,
        "bytes": size,
        "block": block,
        "far": far,
        "series": {name: series(time, noise) for name, time in times.items()},
    }
    return {**found, "direction": direction} if direction else found


def time_of(prices, row):
    return sum(prices.get(name, 0) * often for name, often in row.items())


def packs(engine, library, noise=0.0):
    return [
        record(
            "pack",
            size,
            block,
            far,
            noise,
            direction,
            dunnage=time_of(engine, pack_row(size / block, size, far)),
            plain=time_of(library, pack_row(size / block, size, far)),
        )
        for size, far in ((1 << 10, False), (8 << 10, False), (64 << 10, False), (4 << 20, True))
        for block in BLOCKS
        if 2 * block <= size
        for direction in ("pack", "unpack")
    ]


def contiguous(size):
    return 400 + 0.1 * size


def messages(direction, prices, noise=0.0, ticket=None):
    """By prices as they stand in a file; `ticket` in the place of the engine's where it is
    given."""
    costs = {direction: prices, "eager_limit": 4096}
    ways = side_fits(prices)
    found = []
    for size in SIZES:
        for block in BLOCKS:
            if 2 * block > size or (ticket and size < 16384):
                continue
            engine, library = (
                way.time(row) for way, row in zip(ways, message_rows(size / block, size, costs, 512 << 10))
            )
            if ticket:
                engine = time_of(ticket, pack_row(size / block, size, size >= 512 << 10))
            found.append(
                record(
                    "message",
                    size,
                    block,
                    False,
                    noise,
                    direction,
                    dunnage=contiguous(size) + engine,
                    plain=contiguous(size) + library,
                )
            )
    return found


def references(noise=0.0):
    return [record("message", size, size, False, noise, "contiguous", plain=contiguous(size)) for size in SIZES] + [
        record("copy", 4096, 4096, False, noise, plain=100)
    ]
