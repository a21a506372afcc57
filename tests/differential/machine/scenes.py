"""Random scripts. A script is made of scenes, and a scene of steps.

A step is a list of lines that stay together. The steps of different scenes are mixed, in any order
that keeps the steps of each scene in theirs. What a line waits for is done by lines before it, or
by other ranks in lines of its own step. So no script waits for ever: of the ranks that wait, look
at that with the earliest line.
"""

import random as library

from . import datatypes

MODES = ["standard", "standard", "standard", "synchronous", "buffered"]
COMPLETIONS = ["wait", "test", "waitall", "testall", "waitany", "testany", "waitsome", "testsome"]
BUFFER = 1 << 20
KINDS = ["device", "device", "managed", "pinned", "pool"]


class Scene:
    """What the scenes of a script share: ranks, tags, names. A line is (who, text)."""

    def __init__(self, random, ranks, number, thread, comm, device):
        self.random, self.ranks, self.number, self.thread, self.comm = random, ranks, number, thread, comm
        self.device = device
        self.tags = iter(range(number * 16, number * 16 + 16))
        self.names = 0
        self.reversed = comm.startswith("reverse")

    def tag(self):
        return next(self.tags)

    def name(self, letter="q"):
        self.names += 1
        return f"{letter}{self.number}_{self.names}"

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def pair(self):
        return self.random.sample(range(self.ranks), 2)

    def peer(self, rank):
        """The number of a rank in the scene's communicator."""
        return self.ranks - 1 - rank if self.reversed else rank

    def leaf(self):
        return self.random.choice(list(datatypes.SIZES))

    def elements(self, leaf, largest=None):
        """How many leaves a message has: from none to what takes every MPI's longest way."""
        bytes_ = self.random.choice([0, 1, 64, 200, 1000, 5000, 20000, 20000, 100000, 300000])
        if largest is not None:
            bytes_ = min(bytes_, largest)
        return bytes_ // datatypes.SIZES[leaf]

    def options(self):
        words = ""
        if self.device and self.chance(60):
            words += f" in={self.random.choice(KINDS)}"
        elif self.chance(10):
            words += " at=bottom"
        return words

    def data(self, leaf, least, prefix=""):
        """Options for data of at least so many leaves, and how many leaves they have."""
        made = datatypes.datatype(self.random, leaf)
        count = -(-least // made.leaves)
        return f"{prefix}type={made.text} {prefix}count={count}", made.leaves * count

    def message(self, largest=None, truncated=False, ignorable=True):
        """Options of a send and of the receive that gets it."""
        leaf = self.leaf()
        out, leaves = self.data(leaf, max(self.elements(leaf, largest), 4 if truncated else 0))
        if truncated:
            made = datatypes.datatype(self.random, leaf)
            room = self.random.randint(0, max((leaves - 1) // made.leaves, 0))
            return out + self.options(), f"type={made.text} count={room} wanted=truncate{self.options()}"
        into, _ = self.data(leaf, leaves + self.random.choice([0, 0, 0, 1, 7]))
        into += f" bytes={leaves * datatypes.SIZES[leaf]}"
        if ignorable and self.chance(15):
            into += " status=ignore"
        return out + self.options(), into + self.options()

    def freed(self):
        return " type_freed=at_once" if self.chance(20) else ""

    def on(self):
        return f"on={self.comm}"

    def complete(self, names, wanted=None):
        """A step that completes requests of one rank."""
        verb = wanted or self.random.choice(COMPLETIONS)
        ignore = " status=ignore" if self.chance(10) else ""
        return f"{verb} {' '.join(names)}{ignore}"


def blocking(s):
    a, b = s.pair()
    truncated = s.chance(12)
    mode = s.random.choice(MODES)
    out, into = s.message(20000 if mode == "buffered" else None, truncated)
    tag = s.tag()
    source = s.random.choice([s.peer(a), "any"])
    return [
        [
            (a, f"send mode={mode} to={s.peer(b)} tag={tag} {s.on()} {out}"),
            (b, f"recv from={source} tag={tag} {s.on()} {into}"),
        ]
    ]


def nonblocking(s, verb_out="isend"):
    a, b = s.pair() if s.chance(90) else [s.random.randrange(s.ranks)] * 2
    mode = s.random.choice(MODES)
    out, into = s.message(20000 if mode == "buffered" else None, s.chance(12))
    tag, sent, got = s.tag(), s.name(), s.name()
    begin_send = (a, f"isend {sent} mode={mode} to={s.peer(b)} tag={tag} {s.on()} {out}{s.freed()}")
    begin_receive = (b, f"irecv {got} from={s.peer(a)} tag={tag} {s.on()} {into}{s.freed()}")
    steps = [[begin_send], [begin_receive]]
    s.random.shuffle(steps)
    if s.chance(20) and "truncate" not in into and "status=ignore" not in into:
        steps.append([(b, f"get_status {got}")])
    ends = [[(a, s.complete([sent]))], [(b, s.complete([got]))]]
    s.random.shuffle(ends)
    return steps + ends


def ready(s):
    a, b = s.pair()
    out, into = s.message()
    tag, go, got = s.tag(), s.tag(), s.name()
    steps = [
        [(b, f"irecv {got} from={s.peer(a)} tag={tag} {s.on()} {into}")],
        [(b, f"send to={s.peer(a)} tag={go} {s.on()}"), (a, f"recv from={s.peer(b)} tag={go} {s.on()}")],
    ]
    if s.chance(50):
        steps.append([(a, f"send mode=ready to={s.peer(b)} tag={tag} {s.on()} {out}")])
    else:
        sent = s.name()
        steps.append([(a, f"isend {sent} mode=ready to={s.peer(b)} tag={tag} {s.on()} {out}{s.freed()}")])
        steps.append([(a, s.complete([sent]))])
    return steps + [[(b, s.complete([got]))]]


def persistent(s):
    a, b = s.pair() if s.chance(90) else [s.random.randrange(s.ranks)] * 2
    mode = s.random.choice(["standard", "standard", "synchronous", "buffered"])
    tags = [s.tag() for _ in range(s.random.randint(1, 3))]
    sends, receives, steps = [], [], []
    errors = s.chance(15)  # then one round only: what a persistent request is after an error the MPIs differ in
    for tag in tags:
        out, into = s.message(20000 if mode == "buffered" else None, errors and s.chance(50), ignorable=False)
        sends.append(s.name())
        receives.append(s.name())
        steps.append([(a, f"send_init {sends[-1]} mode={mode} to={s.peer(b)} tag={tag} {s.on()} {out}{s.freed()}")])
        steps.append([(b, f"recv_init {receives[-1]} from={s.peer(a)} tag={tag} {s.on()} {into}{s.freed()}")])
    for _ in range(1 if errors else s.random.randint(1, 3)):
        starts = [[(a, f"start {' '.join(sends)}")], [(b, f"start {' '.join(receives)}")]]
        s.random.shuffle(starts)
        ends = [[(a, s.complete(sends))], [(b, s.complete(receives))]]
        s.random.shuffle(ends)
        steps += starts + ends
    for name in sends:
        steps.append([(a, f"request_free {name}")])
    for name in receives:
        steps.append([(b, f"request_free {name}")])
    return steps


def several(s):
    """Messages of one rank, or of any, to one receiver that completes them together."""
    b = s.random.randrange(s.ranks)
    senders = [r for r in range(s.ranks) if r != b]
    errors = s.chance(25)
    begins, ends, received, sent = [], [], [], {}
    for _ in range(s.random.randint(2, 5)):
        a, tag = s.random.choice(senders), s.tag()
        out, into = s.message(None if not errors else 2000, errors and s.chance(50), ignorable=False)
        received.append(s.name())
        source = s.random.choice([s.peer(a), "any"])
        begins.append([(b, f"irecv {received[-1]} from={source} tag={tag} {s.on()} {into}")])
        if s.chance(50):
            sent.setdefault(a, []).append(s.name())
            begins.append([(a, f"isend {sent[a][-1]} to={s.peer(b)} tag={tag} {s.on()} {out}{s.freed()}")])
        else:
            ends.append([(a, f"send to={s.peer(b)} tag={tag} {s.on()} {out}")])
    s.random.shuffle(begins)
    ends += [[(a, s.complete(names))] for a, names in sent.items()]
    s.random.shuffle(ends)
    steps = begins + ends
    if errors:  # which have come when the receiver looks must not differ between two runs
        steps += [[("*", f"barrier {s.on()}")]] * 3
    return steps + [[(b, s.complete(received))]]


def in_order(s):
    """Messages with one tag, received in the order of their sends."""
    a, b = s.pair()
    tag = s.tag()
    begins, sent, ends = [], [], []
    for _ in range(s.random.randint(2, 4)):
        leaf = "byte"
        out, leaves = s.data(leaf, s.elements(leaf))
        sent.append(s.name())
        begins.append([(a, f"isend {sent[-1]} to={s.peer(b)} tag={tag} {s.on()} {out}")])
        into, _ = s.data(leaf, leaves)
        if s.chance(25):
            message = s.name("m")
            probe = s.random.choice(["mprobe", "improbe"])
            ends.append([(b, f"{probe} {message} from={s.peer(a)} tag={tag} {s.on()}"),
                         (b, f"mrecv message={message} {into}")])
        else:
            ends.append([(b, f"recv from={s.random.choice([s.peer(a), 'any'])} tag={tag} {s.on()} {into}")])
    return begins + ends + [[(a, s.complete(sent))]]


def own_comm(s, as_="dup"):
    """Receives of any tag, on a communicator that only this scene has, which may be freed early."""
    comm = f"{as_}{s.number}"
    made = [[("*", f"comm {comm} of={s.comm} as={as_}"),
             ("*", f"handler {comm} {s.random.choice(['user', 'return'])}")]]
    inner = Scene(s.random, s.ranks, s.number, s.thread, comm, s.device)
    inner.reversed = s.reversed != (as_ == "reverse")
    a, b = inner.pair()
    truncated = inner.chance(30)
    out, into = inner.message(truncated=truncated)
    sent, got = inner.name(), inner.name()
    begin = [[(a, f"isend {sent} to={inner.peer(b)} tag={inner.tag()} {inner.on()} {out}")],
             [(b, f"irecv {got} from=any tag=any {inner.on()} {into}")]]
    s.random.shuffle(begin)
    end = [[(a, inner.complete([sent]))], [(b, inner.complete([got]))]]
    if s.chance(50) and not truncated:  # whose handler is called then is the MPI's own affair
        return made + begin + [[("*", f"comm_free {comm}")]] + end
    return made + begin + end + [[("*", f"comm_free {comm}")]]


def reverse_comm(s):
    return own_comm(s, "reverse")


def sendrecv(s):
    leaf = s.leaf()
    least = s.elements(leaf)
    out, leaves = s.data(leaf, least, "s")
    into, _ = s.data(leaf, leaves, "r")
    to, source = s.random.choice([("next", "previous"), ("previous", "next"), ("right", "left"), ("left", "right")])
    tag = s.tag()
    return [[("*", f"sendrecv to={to} stag={tag} from={source} rtag={tag} {s.on()} {out} {into}")]]


def sendrecv_replace(s):
    leaf = s.leaf()
    data, _ = s.data(leaf, s.elements(leaf))
    to, source = s.random.choice([("next", "previous"), ("previous", "next"), ("right", "left")])
    return [[("*", f"sendrecv_replace to={to} from={source} tag={s.tag()} {s.on()} {data}{s.options()}")]]


def probes(s):
    a, b = s.pair()
    kind = s.random.choice(["probe", "iprobe", "mprobe", "improbe"])
    # Truncated and matched: cases/matched_and_truncated.txt has what differs.
    out, into = s.message(truncated=kind in ("probe", "iprobe") and s.chance(25), ignorable=False)
    tag, sent = s.tag(), s.name()
    source = s.random.choice([s.peer(a), "any"])
    where = f"from={source} tag={tag} {s.on()}"
    steps = [[(a, f"isend {sent} to={s.peer(b)} tag={tag} {s.on()} {out}")]]
    type_ = out.split()[0]
    if kind.startswith("m") or kind.startswith("im"):
        message = s.name("m")
        steps.append([(b, f"{kind} {message} {where} {type_}")])
        if s.chance(50):
            steps.append([(b, f"mrecv message={message} {into}")])
        else:
            got = s.name()
            steps.append([(b, f"imrecv {got} message={message} {into}")])
            steps.append([(b, s.complete([got]))])
    else:
        steps.append([(b, f"{kind} {where} {type_}")])
        steps.append([(b, f"recv {where} {into}")])
    return steps + [[(a, s.complete([sent]))]]


def nothing_there(s):
    """Tests and probes that find nothing, because the sender waits at a barrier."""
    a, b = s.pair()
    out, into = s.message()
    tag, got = s.tag(), s.name()
    steps = [
        [(b, f"irecv {got} from={s.peer(a)} tag={tag} {s.on()} {into}")],
        [(b, f"test_once {got}")],
        [(b, f"probe_once from=any tag={s.tag()} {s.on()}")],
        [("*", f"barrier {s.on()}")],
        [(a, f"send to={s.peer(b)} tag={tag} {s.on()} {out}")],
    ]
    return steps + [[(b, s.complete([got]))]]


def cancelled(s):
    b = s.random.randrange(s.ranks)
    leaf = s.leaf()
    into, _ = s.data(leaf, s.elements(leaf))
    got = s.name()
    where = f"from={s.random.choice(['any', s.peer(b)])} tag={s.tag()} {s.on()} {into}{s.options()}"
    if s.chance(50):
        return [[(b, f"irecv {got} {where}")], [(b, f"cancel {got}")], [(b, s.complete([got]))]]
    return [[(b, f"recv_init {got} {where}")], [(b, f"start {got}")], [(b, f"cancel {got}")],
            [(b, s.complete([got]))], [(b, f"request_free {got}")]]


def freed_requests(s):
    a, b = s.pair()
    out, into = s.message(ignorable=False)
    tag, name = s.tag(), s.name()
    if s.chance(50):
        return [
            [(a, f"isend {name} to={s.peer(b)} tag={tag} {s.on()} {out}")],
            [(a, f"request_free {name}")],
            [(b, f"recv from={s.peer(a)} tag={tag} {s.on()} {into}")],
            [("*", f"barrier {s.on()}")],  # the sender's memory is in use until here
        ]
    return [
        [(b, f"irecv {name} from={s.peer(a)} tag={tag} {s.on()} {into}")],
        [(b, f"request_free {name}")],
        [(a, f"send to={s.peer(b)} tag={tag} {s.on()} {out}"), (b, f"settle {name} {s.on()}")],
    ]


def nobody(s):
    """Messages to and from MPI_PROC_NULL."""
    b = s.random.randrange(s.ranks)
    out, into = s.message(ignorable=False)
    sent, got = s.name(), s.name()
    tag = s.tag()
    lines = [
        f"send mode={s.random.choice(MODES)} to=null tag={tag} {s.on()} {out}",
        f"recv from=null tag={tag} {s.on()} {into}",
        f"probe from=null tag={tag} {s.on()}",
        f"sendrecv to=null stag=1 from=null rtag=1 {s.on()} stype=double scount=3 rtype=double rcount=3",
    ]
    pairs = [
        [f"irecv {got} from=null tag={tag} {s.on()} {into}", s.complete([got])],
        [f"isend {sent} to=null tag={tag} {s.on()} {out}", s.complete([sent])],
    ]
    return [[(b, line)] for line in s.random.choice([s.random.sample(lines, 2), *pairs])]


def invalid(s):
    """Arguments that the MPI refuses."""
    b = s.random.randrange(s.ranks)
    made = datatypes.datatype(s.random, s.leaf()).text
    to, tag, type_, count, at = "to=0", "tag=1", f"type={made}", "count=2", ""
    kind = s.random.choice(["rank", "tag", "type", "count", "null"])
    if kind == "rank":
        to = "to=bad"
    if kind == "tag":
        tag = "tag=bad"
    if kind == "type":
        type_ = "type=null"
    if kind == "count":
        count = "count=-1"
    if kind == "null":
        type_, at = "type=double", " at=null"
    verb = s.random.choice(["send", "recv", "isend", "irecv"])
    name = f" {s.name()}" if verb[0] == "i" else ""
    if "recv" in verb:
        to = to.replace("to", "from")
    return [[(b, f"{verb}{name} {to} {tag} {s.on()} {type_} {count}{at}")]]


def handlers(s):
    return [[("*", f"handler {s.comm} {s.random.choice(['user', 'return'])}")]]


def collective(s):
    leaf = s.random.choice(["int", "double", "byte"])
    made = datatypes.datatype(s.random, leaf).text
    where = f" in={s.random.choice(KINDS)}" if s.device and s.chance(50) else ""
    count = s.random.choice([0, 1, 3, 40, 400])
    verb = s.random.choice(["barrier", "bcast", "bcast", "allreduce", "allgather", "allgatherv", "alltoall",
                            "alltoallv", "alltoallw", "neighbor"])
    if verb == "barrier":
        return [[("*", f"barrier {s.on()}")]]
    if verb == "bcast":
        extra = " nonblocking=1" if s.chance(30) else ""
        count = s.random.choice([0, 1, 3, 400, 3000])
        return [[("*", f"bcast root={s.random.randrange(s.ranks)} {s.on()} type={made} count={count}{extra}{where}")]]
    if verb == "allreduce":
        return [[("*", f"allreduce {s.on()} type={s.random.choice(['int', 'byte'])} count={count}{where}")]]
    if verb != "neighbor":
        return [[("*", f"{verb} {s.on()} type={made} count={count}{where}")]]
    if s.ranks < 3:  # on a ring of two MPICH and Open MPI take one neighbour for the other
        return [[("*", f"barrier {s.on()}")]]
    comm = f"ring{s.number}"
    call = s.random.choice(["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"])
    return [
        [("*", f"comm {comm} of={s.comm} as=ring"), ("*", f"handler {comm} return")],
        [("*", f"neighbor_{call} on={comm} type={made} count={count}{where}")],
        [("*", f"comm_free {comm}")],
    ]


SCENES = {
    blocking: 10, nonblocking: 12, ready: 4, persistent: 8, several: 12, in_order: 6, own_comm: 5, reverse_comm: 3,
    sendrecv: 5, sendrecv_replace: 4, probes: 8, nothing_there: 3, cancelled: 4, freed_requests: 5, nobody: 4,
    invalid: 4, handlers: 3, collective: 10,
}  # fmt: skip


def mixed(random, scenes):
    """The steps of all scenes in one list. Collectives of all ranks come in one order everywhere,
    because the list is one for all ranks."""
    left = [list(steps) for steps in scenes if steps]
    mixture = []
    while left:
        steps = random.choice(left[:3])
        mixture.append(steps.pop(0))
        left = [steps for steps in left if steps]
    return mixture


def write(random, ranks, scenes, thread=0):
    """Lines of the scenes' steps."""
    lines = []
    numbered = [[[(who, text, number) for who, text in step] for step in steps] for number, steps in scenes]
    for step in mixed(random, numbered):
        for who, text, number in step:
            lines.append(f"{who}{'.1' if thread else ''} {text} @{number}")
    return lines


def script(seed, ranks, threads=False, device=False):
    """The text of the script of a seed. Its first line says what the interpreter must be started
    with."""
    random = library.Random(seed)
    lines = [f"# ranks={ranks} threads={int(threads)} device={int(device)} seed={seed}"]
    lines += ["* handler world return", f"* buffer bytes={BUFFER}"]
    lines += [f"* handler world {random.choice(['user', 'return'])} @1"]
    comms = ["world", "world"]
    if random.random() < 0.5:
        as_ = random.choice(["dup", "reverse"])
        lines += [f"* comm {as_}0 as={as_}", f"* handler {as_}0 {random.choice(['user', 'return'])}"]
        comms.append(f"{as_}0")
    if threads:
        lines += ["* comm dup1 as=dup", "* handler dup1 user"]

    def scenes(first, thread):
        made = []
        for number in range(first, first + random.randint(3, 9)):
            comm = "dup1" if thread else random.choice(comms)
            scene = random.choices(list(SCENES), SCENES.values())[0]
            if threads and scene is freed_requests:
                continue  # what one thread has freed the other may complete
            made.append((number, scene(Scene(random, ranks, number, thread, comm, device))))
        return made

    main = write(random, ranks, scenes(2, 0))
    if threads:
        lines += ["* fork", *write(random, ranks, scenes(100, 1), 1), *main, "* join"]
    else:
        lines += main
    lines.append("* buffer_detach")
    return "\n".join(lines) + "\n"
