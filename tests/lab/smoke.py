"""Not an experiment: few transactions, so that every part of the laboratory runs in each test run."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "Smoke",
    source="ours",
    workload="per",
    matrix=dict(profile=["tuned"], variant=["tcp", "sctp-1", "sctp-16"], delay_ms=[10], loss_percent=[0, 2.5], rate=[100]),
    quick=dict(count=400),
    full=dict(count=4000),
    plots=[
        plot("mean", "Smoke", "mean", model=True),
        plot("ccdf", "Smoke", "ccdf", where=dict(loss_percent=2.5)),
    ],
)

lab.claim("S1", "without loss all variants have the same mean",
          lambda r: r.mean().equal(within_ms=0.2), loss_percent=0)
lab.claim("S2", "losses cost time", lambda r: r.mean(loss_percent=0) < r.mean(loss_percent=2.5))
