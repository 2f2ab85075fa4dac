"""Ours: where to use which transport for SIP, over loss, rate and round-trip time. `scripts/lab advise` reads its results."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "Map: SIP over loss, rate and round-trip time",
    source="ours",
    notes=["A cell has the 99th percentile of the one-way delay in ms of the transport to use: the first in the legend's order, which "
           "is that of the effort, whose 99th percentile is less than 5 % above those of the others that were not aborted. Where that "
           "cannot be told, the cell is white, and has the best value and the numbers of those that are possible.",
           "At 1 % loss the 99th percentile lies on the step that a loss makes, over UDP T1 (500 ms). Below, the messages that UDP sends "
           "again lie beyond it.",
           "Nothing is shared: no queue, no other traffic. sip-aqm is about those."],
    workload="sip", measure="one-way",
    matrix=dict(profile=["tuned"], variant=["tcp", "udp", "sctp-16", "quic-16"], delay_ms=[10, 20, 30, 100],
                loss_percent=[0.1, 0.5, 1, 2, 4, 8], rate=[10, 50, 100, 200, 1000]),
    quick=dict(count=3000, replications=3),
    full=dict(count=30000, replications=3),
    plots=[plot("map", "Which transport for SIP", "best", quantity="p99", x="loss_percent", y="rate", panels=["delay_ms"])],
)

lab.claim("L3", "tuned SCTP with 16 streams has a 99th percentile no higher than TCP's",
          lambda r: r.p99("sctp-16") <= r.p99("tcp"))
lab.claim("L4", "the 99th percentile over TCP is at most three times the one-way delay",
          lambda r: r.p99("tcp").within(below=0, rtts=1.5))
