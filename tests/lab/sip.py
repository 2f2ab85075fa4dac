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

lab.claim("L1", "without loss the delay is that of the path",
          lambda r: r.network().within(below=49, above=44.9), lose_run=0)
lab.claim("L1e", "the delay without loss is below 49 ms, as in the paper",
          lambda r: r.p50() < 49, lose_run=0)
lab.claim("L2", "without loss nothing waits at the sender", lambda r: r.sender() < 0.1, lose_run=0)
lab.claim("L3", "without loss nothing waits behind others", lambda r: r.behind() < 0.1, lose_run=0)
lab.claim("L4", "nor do messages without an order",
          lambda r: r.behind() < 0.1, variant=["udp", "sctp-unordered"])
lab.claim("L5", "in order they do",
          lambda r: r.behind() > 0.5, variant=["tcp", "sctp-1"], lose_run=3)
lab.claim("L6", "the lost messages are late over every transport",
          lambda r: r.max() > 100, lose_run=3)
lab.claim("L7", "all arrive", lambda r: r.unanswered() < 0.5)
lab.claim("L8", "few messages are affected without an order",
          lambda r: r.affected().within(below=10, above=0), lose_run=3, variant=["udp", "sctp-unordered"])
lab.claim("L9", "in order or not, the same packets leave at the same times",
          lambda r: r.sender().equal(within_ms=0.1), variant=["sctp-1", "sctp-unordered"])
lab.claim("L10", "and arrive at the same times",
          lambda r: r.network().equal(within_ms=0.1), variant=["sctp-1", "sctp-unordered"])
