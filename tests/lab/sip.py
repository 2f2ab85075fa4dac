"""Not an experiment: SIP over each transport, with and without three lost messages, and where the delay comes from. The path
is that of Camarillo et al. 2003."""

from simco_lab.scenario import Scenario

lab = Scenario(
    "SIP",
    source="ours",
    workload="sip", measure="one-way", response="none", invite_size=500, capture=True, lose_at=100,
    matrix=dict(variant=["udp", "tcp", "sctp-1", "sctp-unordered"], delay_ms=[45], link_mbit=[1.7], queue=["pfifo-50"],
                lose_run=[0, 3], rate=[40]),
    quick=dict(count=200),
    full=dict(count=2000),
)


@lab.claim("without loss the delay is that of the path", lose_run=0)
def L1(r):
    return r.network().within(below=49, above=44.9)


@lab.claim("the delay without loss is below 49 ms, as in the paper", lose_run=0)
def L1e(r):
    return r.p50() < 49


@lab.claim("without loss nothing waits at the sender", lose_run=0)
def L2(r):
    return r.sender() < 0.1


@lab.claim("without loss nothing waits behind others", lose_run=0)
def L3(r):
    return r.behind() < 0.1


@lab.claim("nor do messages without an order", variant=["udp", "sctp-unordered"])
def L4(r):
    return r.behind() < 0.1


@lab.claim("in order they do", variant=["tcp", "sctp-1"], lose_run=3)
def L5(r):
    return r.behind() > 0.5


@lab.claim("the lost messages are late over every transport", lose_run=3)
def L6(r):
    return r.max() > 100


@lab.claim("all arrive")
def L7(r):
    return r.unanswered() < 0.5


@lab.claim("few messages are affected without an order", lose_run=3, variant=["udp", "sctp-unordered"])
def L8(r):
    return r.affected().within(below=10, above=0)


@lab.claim("in order or not, the same packets leave at the same times", variant=["sctp-1", "sctp-unordered"])
def L9(r):
    return r.sender().equal(within_ms=0.1)


@lab.claim("and arrive at the same times", variant=["sctp-1", "sctp-unordered"])
def L10(r):
    return r.network().equal(within_ms=0.1)
