"""Random datatypes as text, with what a generator needs to know of them."""

import dataclasses

SIZES = {"byte": 1, "short": 2, "int": 4, "float": 4, "double": 8}
LONGEST = 60  # leaves of a generated type


@dataclasses.dataclass(frozen=True)
class Type:
    """`places`: where the leaves are, in bytes, in the order of the standard's type map."""

    text: str
    leaf: str
    places: tuple
    lower: int
    upper: int

    @property
    def extent(self):
        return self.upper - self.lower

    @property
    def leaves(self):
        return len(self.places)

    @property
    def is_sound(self):
        """Any count of it may be received into: nothing overlaps, and the extent spans the data."""
        size = SIZES[self.leaf]
        ordered = sorted(self.places)
        apart = all(b - a >= size for a, b in zip(ordered, ordered[1:]))
        return bool(ordered) and apart and self.extent >= ordered[-1] + size - ordered[0]


def leaf(name):
    return Type(name, name, (0,), 0, SIZES[name])


def placed(text, old, blocks):
    """`blocks`: (displacement in bytes, length) of blocks of `old`."""
    starts = [at + i * old.extent for at, length in blocks for i in range(length)]
    places = tuple(start + place for start in starts for place in old.places)
    lower = min((start + old.lower for start in starts), default=0)
    upper = max((start + old.upper for start in starts), default=0)
    return Type(text, old.leaf, places, lower, upper)


def words(*values):
    return ",".join(str(value) for value in values)


def contiguous(random, old):
    n = random.randint(1, 4)
    return placed(f"contiguous({n},{old.text})", old, [(0, n)])


def vector(random, old):
    n, block = random.randint(1, 5), random.randint(1, 3)
    stride = random.choice([1, 1, 1, -1]) * (block + random.randint(0, 3))
    if stride * old.extent == -1:
        stride = 1  # Open MPI takes -1 byte for no stride
    blocks = [(i * stride * old.extent, block) for i in range(n)]
    return placed(f"vector({words(n, block, stride)},{old.text})", old, blocks)


def hvector(random, old):
    n, block = random.randint(1, 5), random.randint(1, 3)
    stride = random.choice([1, 1, -1]) * (block * old.extent + random.randint(0, 3) * SIZES[old.leaf])
    stride = 1 if stride == -1 else stride  # likewise
    return placed(f"hvector({words(n, block, stride)},{old.text})", old, [(i * stride, block) for i in range(n)])


def lists(random):
    """Lengths and displacements, in elements, of blocks that do not overlap."""
    lengths = [random.randint(0 if random.random() < 0.1 else 1, 3) for _ in range(random.randint(1, 5))]
    displacements, at = [], random.randint(-3, 3)
    for length in lengths:
        displacements.append(at)
        at += length + random.randint(0, 3)
    pairs = list(zip(displacements, lengths))
    if random.random() < 0.3:
        random.shuffle(pairs)
    return [length for _, length in pairs], [displacement for displacement, _ in pairs]


def indexed(random, old):
    lengths, displacements = lists(random)
    name, unit = random.choice([("indexed", 1), ("hindexed", old.extent)])
    text = f"{name}({words(len(lengths), *lengths, *[d * unit for d in displacements])},{old.text})"
    return placed(text, old, [(d * old.extent, length) for d, length in zip(displacements, lengths)])


def indexed_block(random, old):
    _, displacements = lists(random)
    block = random.randint(1, 2)
    displacements = [2 * d for d in dict.fromkeys(displacements)]
    name, unit = random.choice([("indexed_block", 1), ("hindexed_block", old.extent)])
    text = f"{name}({words(len(displacements), block, *[d * unit for d in displacements])},{old.text})"
    return placed(text, old, [(d * old.extent, block) for d in displacements])


def struct(random, old):
    lengths, displacements = lists(random)
    places = [d * old.extent for d in displacements]
    text = f"struct({words(len(lengths), *lengths, *places)},{words(*[old.text] * len(lengths))})"
    made = placed(text, old, list(zip(places, lengths)))
    padding = -made.extent % SIZES[old.leaf]
    return dataclasses.replace(made, upper=made.upper + padding)


def linear(index, sizes, order):
    """The place of an element in the array's storage."""
    at = 0
    for i, size in zip(index, sizes) if order == "c" else zip(reversed(index), reversed(sizes)):
        at = at * size + i
    return at


def of_array(text, old, sizes, order, owned):
    """`owned`: the indices that belong to the type, for each dimension."""
    chosen = [()]
    for indices in owned:
        chosen = [index + (i,) for index in chosen for i in indices]
    total = 1
    for size in sizes:
        total *= size
    ordered = sorted(linear(index, sizes, order) for index in chosen)
    made = placed(text, old, [(at * old.extent, 1) for at in ordered])
    return dataclasses.replace(made, lower=old.lower, upper=old.lower + total * old.extent)


def subarray(random, old):
    sizes = [random.randint(1, 5) for _ in range(random.randint(1, 3))]
    subs = [random.randint(1, size) for size in sizes]
    starts = [random.randint(0, size - sub) for size, sub in zip(sizes, subs)]
    order = random.choice(["c", "fortran"])
    text = f"subarray({words(len(sizes), *sizes, *subs, *starts, order)},{old.text})"
    return of_array(text, old, sizes, order, [range(a, a + n) for a, n in zip(starts, subs)])


def darray(random, old):
    """Of a grid of two processes, in one dimension."""
    dimensions = random.randint(1, 2)
    sizes = [random.randint(2, 6) for _ in range(dimensions)]
    split = random.randrange(dimensions)
    kinds = [random.choice(["block", "cyclic"]) if d == split else "none" for d in range(dimensions)]
    grid = [2 if d == split else 1 for d in range(dimensions)]
    rank, order = random.randint(0, 1), random.choice(["c", "fortran"])

    def mine(d):
        if d != split:
            return range(sizes[d])
        block = (sizes[d] + 1) // 2 if kinds[d] == "block" else 1
        return [i for i in range(sizes[d]) if i // block % 2 == rank]

    text = f"darray({words(2, rank, dimensions, *sizes, *kinds, *['default'] * dimensions, *grid, order)},{old.text})"
    return of_array(text, old, sizes, order, [mine(d) for d in range(dimensions)])


def resized(random, old):
    size = SIZES[old.leaf]
    lower = old.lower - size * random.randint(0, 2)
    extent = old.upper + size * random.randint(0, 3) - lower
    made = placed(f"resized({lower},{extent},{old.text})", old, [(0, 1)])
    return dataclasses.replace(made, lower=lower, upper=lower + extent)


def dup(random, old):
    return placed(f"dup({old.text})", old, [(0, 1)])


CONSTRUCTORS = [contiguous, vector, hvector, indexed, indexed_block, struct, subarray, darray, resized, dup, vector]


def datatype(random, name, depth=None):
    """A type whose leaves are all of the predefined type `name`."""
    if depth is None:
        depth = random.choice([0, 1, 1, 1, 2, 2, 3])
    made = leaf(name)
    for _ in range(depth):
        larger = random.choice(CONSTRUCTORS)(random, made)
        if larger.is_sound and larger.leaves <= LONGEST and larger.extent <= 4096:
            made = larger
    return made
