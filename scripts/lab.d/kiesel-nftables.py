"""Ours: experiment 1 with the packet filter switched on, which report 53 had switched off: each
transaction changes the rules of the guest's nftables before it is answered."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "SIMCO with the packet filter",
    source="after IKR report 53, section 4.2",
    workload="per",
    matrix=dict(profile=["tuned"], variant=["tcp", "sctp-1", "sctp-16"], backend=["null", "nftables"], delay_ms=[10],
                loss_percent=[0, 1, 2.5], rate=[100]),
    quick=dict(count=1000, variant=["tcp", "sctp-16"], loss_percent=[0, 2.5]),
    full=dict(count=40000),
    plots=[
        plot("nftables", "SIMCO with nftables", "mean", x="loss_percent", where=dict(backend="nftables")),
        plot("null", "SIMCO without a packet filter", "mean", x="loss_percent", where=dict(backend="null")),
    ],
)

lab.claim("F1", "the packet filter costs less than 2 ms",
          lambda r: r.mean().equal(within_ms=2), loss_percent=0)
