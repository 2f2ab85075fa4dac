"""Ours: if messages are rare, nothing follows a lost one, and only a timeout recovers it."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "Rare messages and loss",
    source="ours; IKR report 53 measured three variants there",
    workload="per",
    matrix=dict(profile=["modern", "2006", "tuned"], variant=["tcp", "tcp-4", "sctp-1", "sctp-4", "sctp-16", "quic-16"],
                delay_ms=[10, 40], loss_percent=[1, 2.5], rate=[0.1, 1, 10]),
    quick=dict(count=500, profile=["modern", "tuned"], variant=["tcp", "sctp-16", "quic-16"], delay_ms=[10], loss_percent=[2.5]),
    full=dict(count=10000),
    plots=[
        plot("mean-over-load", "Rare messages, 2.5 % loss, 10 ms", "mean", x="rate", log_x=True, model=True,
             where=dict(delay_ms=10, loss_percent=2.5)),
        plot("ccdf-1", "CCDF at 1/s, 2.5 % loss, 10 ms", "ccdf", where=dict(rate=1, delay_ms=10, loss_percent=2.5)),
    ],
)

lab.claim("R1", "tuned, SCTP with 16 streams has a lower mean than TCP",
          lambda r: r.mean("sctp-16") < r.mean("tcp"), profile="tuned")
lab.claim("E8", "TCP has a lower mean than SCTP with one stream",
          lambda r: r.mean("tcp") < r.mean("sctp-1"), profile=["modern", "2006"])
lab.claims_of("kiesel-exp5", "Q1", "Q2", "Q3")
