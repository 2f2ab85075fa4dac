"""Ours: a case in which SCTP loses. Delays differ, so that packets overtake each other: reordered SACKs together
with loss stop the retransmission timer of Linux's SCTP again and again."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "Reordering and loss",
    source="ours",
    workload="echo", abort_lag_s=0,
    matrix=dict(profile=["modern", "tuned"], variant=["tcp", "sctp-1", "sctp-16", "quic-16"], delay_ms=[10],
                jitter_ms=[0, 2, 5], loss_percent=[0, 1], rate=[100, 1000]),
    quick=dict(count={100: 2000, 1000: 10000}, profile=["tuned"], variant=["tcp", "sctp-16", "quic-16"], jitter_ms=[0, 2]),
    full=dict(count={100: 20000, 1000: 100000}, replications=3),
    plots=[
        plot("mean-over-jitter", "Delay over jitter, 1 % loss, 1000/s", "mean", x="jitter_ms",
             where=dict(loss_percent=1, rate=1000)),
        plot("ccdf", "CCDF at 1 % loss, 2 ms jitter, 1000/s", "ccdf", where=dict(loss_percent=1, jitter_ms=2, rate=1000)),
    ],
)

lab.claim("J1", "with jitter and loss SCTP has a lower 99.9th percentile than TCP",
          lambda r: r.p999("sctp-16") < r.p999("tcp"), jitter_ms=[2, 5], loss_percent=1)
lab.claims_of("kiesel-exp5", "Q1", "Q2", "Q3", loss_percent=1)
