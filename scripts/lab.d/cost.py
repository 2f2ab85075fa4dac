"""Ours: what a transaction costs on each transport when nothing is lost: instructions of both ends, the router and their
kernels (an instruction takes a nanosecond), packets, and octets with the headers of IP."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "What a transaction costs",
    source="ours",
    workload="per", warmup=100, tables=["busy", "packets", "octets"],
    matrix=dict(profile=["tuned"], variant=["tcp", "sctp-1", "sctp-16", "quic-1", "quic-16"], delay_ms=[10], loss_percent=[0],
                rate=[10, 100, 1000, 3000]),
    quick=dict(count={100: 1000, 1000: 4000}, replications=3, variant=["tcp", "sctp-16", "quic-16"], rate=[100, 1000]),
    full=dict(count={10: 2000, 100: 10000, 1000: 40000}, replications=3),
    plots=[plot("busy", "Processor time over load", "over", quantity="busy", x="rate", log_x=True)],
)

lab.claim("C1", "a transaction over QUIC takes at most 2.1 times the instructions of one over TCP at 100/s",
          lambda r: r.busy("quic-16") < 2.1 * r.busy("tcp"), rate=100)
