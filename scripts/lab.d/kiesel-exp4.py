"""Experiment 4 of IKR report 53: load without loss. A curve ends when messages cannot be handed to
the transport within a second of their time."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "SIMCO over load, 10 ms one way, no loss",
    source="IKR report 53, section 5, figures 28 to 31",
    workload="per",
    matrix=dict(profile=["modern", "2006", "tuned"],
                variant=["tcp", "sctp-1", "sctp-2", "sctp-4", "sctp-16", "sctp-1024", "quic-16"], delay_ms=[10],
                loss_percent=[0], rate=[0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 2000, 3000, 5000, 10000]),
    quick=dict(count={0.1: 50, 10: 300, 100: 1000, 1000: 3000}, profile=["modern", "tuned"],
               variant=["tcp", "sctp-1", "sctp-16", "quic-16"], rate=[0.1, 1, 10, 100, 1000, 5000]),
    full=dict(count={0.1: 100, 1: 400, 10: 4000, 100: 40000}),
    plots=[
        plot("mean-over-load", "Experiment 4: delay over load, no loss", "mean", x="rate", log_x=True, paper_figure="figure 28",
             where=dict(profile=["2006", "tuned"])),
        plot("ccdf", "Experiment 4: CCDF", "ccdf", panels=["rate"],
             where=dict(profile=["2006", "tuned"], rate=[10, 100, 1000])),
    ],
)

lab.claim("E1", "without loss all variants have the same mean up to 1000/s",
          lambda r: r.mean().equal(within_ms=0.2), rate=[0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000])
lab.claim("E9", "SCTP with 16 streams carries what TCP carries",
          lambda r: r.mean("sctp-16") <= r.mean("tcp"), rate=[2000, 3000, 5000, 10000])
