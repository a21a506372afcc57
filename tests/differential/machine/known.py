"""What is known to differ. docs/reference/limits.md says why; a reason here is what is counted."""

import re


def wrong_bytes(mpi, group, plain, found):
    """The plain MPI delivers what was not sent, or touches what is not the message's."""
    if "data:wrong" not in plain and "touched" not in plain:
        return False
    without = [re.sub(r"data:[^, ]+|(rest|outside):\w+", "", text) for text in (plain, found)]
    return without[0] == without[1] and found.count("touched") <= plain.count("touched")


COMPLETIONS = [verb + which for verb in ("wait", "test") for which in ("", "any", "some", "all")]
STATUS = re.compile(r"(from|tag|count|elements|bytes):")


class Told:
    """What a statement that completes requests has told."""

    def __init__(self, text):
        self.verb, *words = text.split()
        pairs = [word.split("=", 1) for word in words]
        self.failures = {value for key, value in pairs if key == "code" and value != "success"}
        self.handlers = {value for key, value in pairs if key == "handler"}
        self.results = {key: value.split(",") for key, value in pairs if key not in ("code", "handler")}

    def tells_an_error(self):
        return any(re.match(r"error:(?!pending)", word) for words in self.results.values() for word in words)


def beginnings(group):
    """The lines that begin operations, by the operation's name."""
    found = (re.search(r" (?:isend|irecv|imrecv|send_init|recv_init) (\w+) ", line) for line in group)
    return {match.group(1): match.string for match in found if match}


def end_of(words, concealed):
    """How a request ended, whether the call told that or what came after it."""
    words = [re.sub(r"^then:", "error:", word) for word in words]
    dropped = {"error:pending", "error:success", "left", "untold", "sent"}
    if concealed:
        dropped.add("error:truncate")
    return {word for word in words if word not in dropped}


def ends_alike(mpi, group, plain, found, conceals, told_once=False, gone=False):
    """Whether each request of a call ended alike, though it may be another one that the call tells
    to be complete, failed or pending. Bytes, errors and their handlers are compared all the same.
    `conceals`(line): whether the MPI may tell nothing of an error of the operation that the line
    begins, and return no code. `told_once`: an error that the call does not tell is told by none.
    `gone`: the MPI frees what has failed."""
    one, other = Told(plain), Told(found)
    lines = beginnings(group)
    if one.verb != other.verb or one.verb not in COMPLETIONS or one.results.keys() != other.results.keys():
        return False
    ignored = any("status=ignore" in line and f" {one.verb} " in line for line in group)
    short = {name for name in one.results if "wanted=truncate" in lines.get(name, "")}
    concealed = {name for name in short if conceals(lines[name])}
    if not short or one.handlers and other.handlers and one.handlers != other.handlers:
        return False
    if not concealed:
        if not one.failures or one.failures != other.failures or one.handlers != other.handlers:
            return False
        if one.tells_an_error() and not other.tells_an_error():
            return False
    # If Open MPI completes one of several, it frees all that have failed, and tells one of them.
    frees = mpi.is_open_mpi and one.verb.endswith("any")
    for name in one.results:
        # Without statuses nobody is told which has failed.
        unknown = name in concealed or (name in short and (ignored or frees or told_once))
        ends = [end_of(told.results[name], unknown) for told in (one, other)]
        if gone:
            ends = [end - {"gone"} for end in ends]
        if any("untold" in told.results[name] or "error:pending" in told.results[name] or "left" in told.results[name]
               for told in (one, other)):  # fmt: skip
            ends = [{word for word in end if not STATUS.match(word)} for end in ends]
        if "outside:touched" in ends[0]:
            ends = [{word for word in end if not word.startswith("outside:")} for end in ends]
        if ends[0] != ends[1]:
            return False
    return True


def by_timing(mpi, group, plain, found):
    """Which requests a call about several tells to be complete, failed or pending depends on which
    have ended when the MPI looks at them. So does the number of calls that complete some requests,
    and with it whether one succeeds beside one that fails."""
    return ends_alike(mpi, group, plain, found, lambda line: False, told_once=loses_what_it_does_not_tell(mpi))


def loses_what_it_does_not_tell(mpi):
    """If a call of MPICH 5 about several requests fails, a later MPI_Wait for another one that has
    failed as well returns success."""
    return mpi.kind == "impi" or (mpi.kind == "mpich" and mpi.major >= 5)


def to_itself(mpi, group, plain, found):
    """Open MPI tells no truncation of a contiguous message of a rank to itself."""
    if not mpi.is_open_mpi or "wanted=truncate" not in " ".join(group):
        return False
    if any(worse in found and worse not in plain for worse in ("data:wrong", "rest:touched")):
        return False
    return len({line.split()[0] for line in group if " send" in line or " isend" in line or "recv" in line}) == 1


def persistent_on_open_mpi_4(mpi, group, plain, found):
    """Open MPI 4.1 frees persistent requests that have failed. MPI_Testall and MPI_Testany return
    no error then, nor does MPI_Waitall if they fail while it waits: statuses alone tell."""
    if not mpi.is_open_mpi or mpi.major > 4:
        return False
    if not any("recv_init" in line and "wanted=truncate" in line for line in group):
        return False
    if plain.split()[0] in ("request_free", "start"):  # of one that is gone
        return re.sub(r" (code|handler)=\S+", "", plain) == re.sub(r" (code|handler)=\S+", "", found)
    quiet = plain.split()[0] in ("waitall", "testall", "testany")
    return ends_alike(mpi, group, plain, found, lambda line: quiet and "recv_init" in line, gone=True)


def buffered_on_open_mpi_4(mpi, group, plain, found):
    """Persistent buffered sends of Open MPI 4.1 deliver wrong data now and then."""
    if not mpi.is_open_mpi or mpi.major > 4:
        return False
    if not any("send_init" in line and "mode=buffered" in line for line in group):
        return False
    without = [re.sub(r"data:[^, ]+", "", text) for text in (plain, found)]
    return without[0] == without[1]


def ignored_on_open_mpi_5(mpi, group, plain, found):
    """MPI_Waitall of Open MPI 5 returns no error if it is given no statuses, and a request fails
    while it waits."""
    if not mpi.is_open_mpi or mpi.major < 5 or not plain.startswith("waitall"):
        return False
    if not any("status=ignore" in line and " waitall " in line for line in group):
        return False
    return ends_alike(mpi, group, plain, found, lambda line: True)


def any_source(mpi, group, plain, found):
    """Whether MPICH 5 and Intel MPI tell a truncation to a receive from any source, and Intel MPI
    to one of nothing, depends on which comes first, the message or the receive."""
    if mpi.is_open_mpi or (mpi.kind == "mpich" and mpi.major < 5):
        return False
    said = "from=any|count=0 " if mpi.kind == "impi" else "from=any"
    if not any(re.search(said, line) and "wanted=truncate" in line for line in group):
        return False
    if ends_alike(mpi, group, plain, found, lambda line: bool(re.search(said, line)), told_once=True):
        return True
    without = [re.sub(r"error:(truncate|in_status),| (code|handler)=\S+", "", text) for text in (plain, found)]
    return without[0] == without[1]


def concealed_by_intel(mpi, group, plain, found):
    """Intel MPI tells a truncation to MPI_Recv or not, which depends on timing."""
    if mpi.kind != "impi" or not re.match(r"recv code=(success|truncate)", plain):
        return False
    without = [re.sub(r" (code|handler)=\S+", "", text) for text in (plain, found)]
    return without[0] == without[1] and any("wanted=truncate" in line for line in group)


def untold_in_status(mpi, group, plain, found):
    """MPI_Waitsome and MPI_Testsome of MPICH 5 and Intel MPI return MPI_ERR_IN_STATUS for a
    persistent receive that failed, and no status tells it."""
    if mpi.is_open_mpi or not any("recv_init" in line and "wanted=truncate" in line for line in group):
        return False
    if "code=in_status" not in plain or "code=in_status" not in found or not plain.split()[0].endswith("some"):
        return False
    return ends_alike(mpi, group, plain, found, lambda line: "recv_init" in line, told_once=True)


def handle_of_a_failed_message(mpi, group, plain, found):
    """MPI_Mrecv of MPICH and Intel MPI leaves the message's handle as it was if it fails."""
    if mpi.is_open_mpi or not plain.startswith("mrecv") or "code=truncate" not in plain:
        return False
    return plain == found.replace("null=1", "null=0")


def mrecv_that_fails(mpi, group, plain, found):
    """MPI_Mrecv of MPICH 5 fails now and then where nothing is wrong. Dunnage's receives bytes."""
    if mpi.kind != "mpich" or mpi.major < 5 or not plain.startswith("mrecv code=other "):
        return False
    if any("wanted=" in line for line in group):
        return False
    return bool(re.search(r"^mrecv code=success got=\S*data:line\d+,rest:clean", found))


def past_device_memory(mpi, texts, end):
    """Open MPI writes all of a contiguous message of a rank to itself into a receive that is too
    short. Dunnage gives it packed data, which are contiguous. Where memory of the device ends, that
    is a crash."""
    where = re.match(r"crashed at line (\d+) ", end)
    if not where:
        return False
    group = texts[int(where.group(1))].partition("@")[2]
    lines = [text for text in texts.values() if group and text.partition("@")[2] == group]
    return to_itself(mpi, lines, "", "") and any("recv" in text and " in=" in text for text in lines)


RULES = {
    "MPI_Mrecv of MPICH 5 fails though nothing is wrong": mrecv_that_fails,
    "MPICH leaves the handle of a message that was truncated": handle_of_a_failed_message,
    "the MPI's own bytes are wrong": wrong_bytes,
    "which requests of a call have ended depends on timing": by_timing,
    "Open MPI does not tell a truncated message to oneself": to_itself,
    "MPICH 5 and Intel MPI conceal some truncations": any_source,
    "Intel MPI conceals some truncations of MPI_Recv": concealed_by_intel,
    "MPICH 5 and Intel MPI tell errors of persistent receives in no status": untold_in_status,
    "Open MPI 4.1 treats failed persistent requests its own way": persistent_on_open_mpi_4,
    "Open MPI 4.1 delivers wrong data of persistent buffered sends": buffered_on_open_mpi_4,
    "Open MPI 5 conceals errors if it is given no statuses": ignored_on_open_mpi_5,
}
SILENT = "beside a call of another thread, no error handler is called"
CRASHES = {
    "Open MPI writes past a receive of device memory that is too short": past_device_memory,
}


def explains(mpi, group, plain, found, threads=False):
    """The reason for a difference, or None. `group`: the lines that belong to the statement's.
    `threads`: whether a rank of the script has several."""
    for reason, rule in RULES.items():
        if rule(mpi, group, plain, found):
            return reason
    # MPI_COMM_WORLD returns errors while Dunnage asks about its own messages
    # (docs/reference/limits.md).
    if threads and not mpi.is_open_mpi and re.sub(r" handler=world:\S+", "", plain) == found:
        return SILENT
    return None


def explains_end(mpi, texts, end):
    """The reason why a script ended early, or None. `texts`: its statements by line."""
    for reason, rule in CRASHES.items():
        if rule(mpi, texts, end):
            return reason
    return None
