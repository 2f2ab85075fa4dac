"""Ours: where to use which transport for SIMCO, over loss, rate and round-trip time. `scripts/lab advise` reads its results."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "Map: SIMCO over loss, rate and round-trip time",
    source="ours",
    notes=["A cell has the 99th percentile in ms of the transport to use: the first in the legend's order, which is that of the "
           "effort, whose 99th percentile is less than 5 % above those of the others that were not aborted. Where that cannot be told, "
           "the cell is white, and has the best value and the numbers of those that are possible."],
    workload="per", warmup=100,
    matrix=dict(profile=["tuned"], variant=["tcp", "sctp-16", "quic-16"], delay_ms=[10, 20, 30, 100], loss_percent=[0.1, 0.5, 1, 2, 4, 8],
                rate=[10, 50, 100, 200, 1000]),
    quick=dict(count=3000, replications=3),
    full=dict(count=30000, replications=3),
    plots=[plot("map", "Which transport for SIMCO", "best", quantity="p99", x="loss_percent", y="rate", panels=["delay_ms"])],
)

lab.claim("L1", "QUIC with 16 streams has a 99th percentile no higher than TCP's",
          lambda r: r.p99("quic-16") <= r.p99("tcp"))
lab.claim("L2", "QUIC with 16 streams has a 99th percentile no higher than that of tuned SCTP with 16",
          lambda r: r.p99("quic-16") <= r.p99("sctp-16"))
lab.claim("L3", "tuned SCTP with 16 streams has a 99th percentile no higher than TCP's",
          lambda r: r.p99("sctp-16") <= r.p99("tcp"))
