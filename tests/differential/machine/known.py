"""What is known to differ. docs/reference/limits.md says why; a reason here is what is counted."""

import re


def wrong_bytes(mpi, group, plain, found):
    """The plain MPI delivers what was not sent, or touches what is not the message's."""
    if "data:wrong" not in plain and "touched" not in plain:
        return False
    without = [re.sub(r"data:[^, ]+|(rest|outside):\w+", "", text) for text in (plain, found)]
    return without[0] == without[1] and found.count("touched") <= plain.count("touched")


def told_in_part(mpi, group, plain, found):
    """MPICH leaves requests behind the first failure pending. With Dunnage they may have ended."""
    if mpi.is_open_mpi or "error:pending" not in plain and ",left" not in plain:
        return False
    pending = re.findall(r"(\w+)=(?:error:pending|\S*,left)", plain)
    without = [re.sub(rf"\b({'|'.join(pending)})=\S+", "", text) for text in (plain, found)]
    return without[0] == without[1]


def ignored_on_mpich(mpi, group, plain, found):
    """If MPI_Waitall of MPICH is given no statuses, it ends all requests. Dunnage gives it some, so
    that it leaves those behind the first failure pending."""
    if mpi.is_open_mpi or not any("status=ignore" in line and " waitall " in line for line in group):
        return False
    return "code=in_status" in plain and plain == re.sub(r"=left\b", "=untold", found)


def to_itself(mpi, group, plain, found):
    """Open MPI tells no truncation of a contiguous message of a rank to itself."""
    if not mpi.is_open_mpi or "wanted=truncate" not in " ".join(group):
        return False
    return len({line.split()[0] for line in group if " send" in line or " isend" in line or "recv" in line}) == 1


def persistent_on_open_mpi_4(mpi, group, plain, found):
    """Open MPI 4.1 frees persistent requests that have failed, and tells their errors in
    statuses."""
    if not mpi.is_open_mpi or mpi.major > 4 or not any("recv_init" in line for line in group):
        return False
    if not any("wanted=truncate" in line for line in group):
        return False
    without = [re.sub(r",gone|error:\w+,| (code|handler)=\S+", "", text) for text in (plain, found)]
    return without[0] == without[1]


def buffered_on_open_mpi_4(mpi, group, plain, found):
    """Persistent buffered sends of Open MPI 4.1 deliver wrong data now and then."""
    if not mpi.is_open_mpi or mpi.major > 4:
        return False
    if not any("send_init" in line and "mode=buffered" in line for line in group):
        return False
    without = [re.sub(r"data:[^, ]+", "", text) for text in (plain, found)]
    return without[0] == without[1]


def ignored_on_open_mpi_5(mpi, group, plain, found):
    """MPI_Waitall of Open MPI 5 returns no error if it is given no statuses."""
    if not mpi.is_open_mpi or mpi.major < 5 or not plain.startswith("waitall"):
        return False
    return any("status=ignore" in line and " waitall " in line for line in group) and "code=success" in plain


def any_source(mpi, group, plain, found):
    """Whether MPICH 5 and Intel MPI tell a truncation to a receive from any source, and Intel MPI
    to one of nothing, depends on which comes first, the message or the receive."""
    if mpi.is_open_mpi or (mpi.kind == "mpich" and mpi.major < 5):
        return False
    said = "from=any|count=0 " if mpi.kind == "impi" else "from=any"
    if not any(re.search(said, line) and "wanted=truncate" in line for line in group):
        return False
    without = [re.sub(r"error:(truncate|in_status),| (code|handler)=\S+", "", text) for text in (plain, found)]
    return without[0] == without[1]


def untold_in_status(mpi, group, plain, found):
    """MPI_Waitsome and MPI_Testsome of MPICH 5 and Intel MPI return MPI_ERR_IN_STATUS for a
    persistent receive that failed, and no status tells it."""
    if mpi.is_open_mpi or not any("recv_init" in line and "wanted=truncate" in line for line in group):
        return False
    return "code=in_status" in plain and plain == re.sub(r"error:truncate,", "", found)


def handle_of_a_failed_message(mpi, group, plain, found):
    """MPI_Mrecv of MPICH and Intel MPI leaves the message's handle as it was if it fails."""
    if mpi.is_open_mpi or not plain.startswith("mrecv") or "code=truncate" not in plain:
        return False
    return plain == found.replace("null=1", "null=0")


RULES = {
    "MPICH leaves the handle of a message that was truncated": handle_of_a_failed_message,
    "the MPI's own bytes are wrong": wrong_bytes,
    "MPICH leaves requests behind a failure pending": told_in_part,
    "MPICH ends all requests if it is given no statuses": ignored_on_mpich,
    "Open MPI does not tell a truncated message to oneself": to_itself,
    "MPICH 5 and Intel MPI conceal some truncations": any_source,
    "MPICH 5 and Intel MPI tell errors of persistent receives in no status": untold_in_status,
    "Open MPI 4.1 treats failed persistent requests its own way": persistent_on_open_mpi_4,
    "Open MPI 4.1 delivers wrong data of persistent buffered sends": buffered_on_open_mpi_4,
    "Open MPI 5 conceals errors if it is given no statuses": ignored_on_open_mpi_5,
}


def explains(mpi, group, plain, found):
    """The reason for a difference, or None. `group`: the lines that belong to the statement's."""
    for reason, rule in RULES.items():
        if rule(mpi, group, plain, found):
            return reason
    return None
