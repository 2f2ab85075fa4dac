"""The queues of the dumbbell's middle link: a row of a table each. A scenario names a queue in a word such as pfifo-50
or drd-10-20, which is taken apart here only."""

from dataclasses import dataclass

from ..errors import BadRun
from .catalogue import number, table, words

LENGTH_MAX = 100000  # packets
DELAY_LINE = "limit 100000"  # of netem: room for all that is under way
SHAPER_HANDLE, QUEUE_HANDLE = "1:", "2:"
BURST = 1600  # octets that the shaper lets pass at once: one packet


@dataclass(frozen=True)
class Kind:
    """A kind of queue. `words` are those of `tc`, with the numbers of the queue's name as {0}, {1} and the link's
    rate as {mbit}."""

    name: str
    numbers: int = 0  # in its name: NAME-N, NAME-MIN-MAX
    words: str = ""
    shaped: bool = True  # the link has a rate, and the queue waits behind it
    own_shaper: bool = False  # it needs no shaper above it
    delay_line: bool = False  # the packets under way are the queue, so the delay is on the middle link
    guest_modules: tuple = ()

    @property
    def form(self):
        return self.name + ("", "-N", "-MIN-MAX")[self.numbers]


KINDS = table(
    Kind("none", shaped=False),
    Kind("pfifo", numbers=1, words="pfifo limit {0}"),
    Kind("drd", numbers=2, shaped=False, delay_line=True, guest_modules=("sch_ingress", "cls_bpf")),
    Kind("red", words="red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.1 bandwidth {mbit:g}mbit",
         guest_modules=("sch_red",)),
    Kind("codel", words="codel limit 1000 target 15ms interval 100ms noecn", guest_modules=("sch_codel",)),
    Kind("pie", words="pie limit 1000 target 15ms", guest_modules=("sch_pie",)),
    Kind("fq_codel", words="fq_codel limit 1000 flows 1024 target 15ms interval 100ms noecn",
         guest_modules=("sch_fq_codel",)),
    Kind("cake", words="cake bandwidth {mbit:g}mbit besteffort", own_shaper=True, guest_modules=("sch_cake",)),
)
FORMS = words([kind.form for kind in KINDS.values()])


@dataclass(frozen=True)
class Queue:
    """A kind of queue with the numbers of its name. `str` returns the name that scenarios and result files use."""

    kind: Kind
    numbers: tuple = ()

    @classmethod
    def parse(cls, name):
        """Returns the queue of that name. Raises ValueError."""
        if isinstance(name, str):
            word, *rest = name.split("-")
            kind = KINDS.get(word)
            numbers = [number(text, LENGTH_MAX) for text in rest]
            if kind and len(numbers) == kind.numbers and all(numbers):
                if numbers != sorted(set(numbers)):
                    raise ValueError(f"the thresholds of queue {name!r} must rise")
                return cls(kind, tuple(numbers))
        raise ValueError(f"unknown queue {name!r}; expected {FORMS}")

    def __str__(self):
        return "-".join([self.kind.name, *map(str, self.numbers)])

    def words(self, mbit):
        return self.kind.words.format(*self.numbers, mbit=mbit)

    def commands(self, device, mbit):
        """Returns the `tc` commands that make it the queue of `device`."""
        if not self.kind.shaped:
            return []
        if self.kind.own_shaper:
            return [f"tc qdisc add dev {device} root handle {QUEUE_HANDLE} {self.words(mbit)}"]
        return [f"tc qdisc add dev {device} root handle {SHAPER_HANDLE} tbf rate {mbit:g}mbit burst {BURST} limit 10000000",
                f"tc qdisc add dev {device} parent {SHAPER_HANDLE} handle {QUEUE_HANDLE} {self.words(mbit)}"]


def check_link(queue, mbit):
    """Raises ValueError if the queue and the link's rate do not go together."""
    if queue.kind.shaped and not mbit:
        raise ValueError(f"queue {str(queue)!r} is that of a link with a rate: set 'link_mbit'")
    if not queue.kind.shaped and mbit:
        raise ValueError(f"queue {str(queue)!r} is that of a link without a rate: leave 'link_mbit' at 0")


def check_counts(queue, listed, device):
    """Returns the packets that the queue dropped, by the output of `tc -s -j qdisc show` on its router. Raises BadRun if
    another one is there, or another one dropped packets."""
    found = [entry for entry in listed if entry["dev"] == device]
    own = [entry for entry in found if entry.get("handle") == QUEUE_HANDLE]
    if queue.kind.shaped:
        if [entry["kind"] for entry in own] != [queue.kind.name]:
            raise BadRun(f"the queue of '{device}' is not {queue}: {', '.join(entry['kind'] for entry in found)}")
        limit = own[0].get("options", {}).get("limit")
        if queue.numbers and limit != queue.numbers[0]:
            raise BadRun(f"the queue of '{device}' holds {limit} packets, not {queue.numbers[0]}")
    # A shaper counts what its child dropped, too, and clsact what the programs before a delay line dropped.
    others = [entry for entry in listed if not (entry["dev"] == device and queue.kind.shaped)
              and not (queue.kind.delay_line and entry["kind"] == "clsact")]
    for entry in others:
        if entry.get("drops"):
            raise BadRun(f"{entry['kind']} on '{entry['dev']}' dropped {entry['drops']} packets; only the queue may")
    return own[0]["drops"] if own else 0


def waiting(listed, device):
    """Returns the packets that are still in the device's delay line, by the same output: sent again when the run was over."""
    return sum(entry["qlen"] for entry in listed if entry["dev"] == device and entry["kind"] == "netem")
