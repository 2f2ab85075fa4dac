"""Experiment 6 of IKR report 53: load with 2 % loss. A curve ends when messages cannot be handed to
the transport within a second of their time."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "SIMCO over load, 10 ms one way, 2 % loss",
    source="IKR report 53, section 5, figures 37 to 40",
    workload="per",
    matrix=dict(profile=["modern", "2006", "tuned"],
                variant=["tcp", "sctp-1", "sctp-2", "sctp-4", "sctp-16", "sctp-1024", "quic-16"], delay_ms=[10],
                loss_percent=[2], rate=[10, 30, 100, 300, 1000, 2000, 3000, 5000]),
    quick=dict(count={0.1: 100, 10: 1000, 100: 2000, 1000: 5000}, profile=["modern", "tuned"],
               variant=["tcp", "sctp-1", "sctp-16", "quic-16"], rate=[10, 100, 1000]),
    full=dict(count={10: 4000, 100: 40000}),
    plots=[
        plot("mean-over-load", "Experiment 6: delay over load, 2 % loss", "mean", x="rate", log_x=True, model=True,
             where=dict(profile=["2006", "tuned"])),
        plot("ccdf", "Experiment 6: CCDF", "ccdf", panels=["rate"],
             where=dict(profile=["2006", "tuned"], rate=[10, 100, 1000])),
    ],
)

lab.claims_of("kiesel-exp5", "E2", "E3", "W1", "W2", "W3", "Q1", "Q2", "Q3")
