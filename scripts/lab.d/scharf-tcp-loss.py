"""Figure 5 of the Globecom 2006 paper of Scharf and Kiesel. The paper's TCP fails above 7 %."""

from simco_lab.scenario import Scenario, paper, plot

lab = Scenario(
    "Echo over TCP: loss",
    source="Globecom 2006, figure 5",
    workload="echo",
    matrix=dict(profile=["modern", "2006", "tuned"], variant=["tcp", "tcp-2", "tcp-4"], delay_ms=[10],
                loss_percent=[0, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 7, 8, 10], rate=[100]),
    quick=dict(count=20000, profile=["2006", "tuned"], variant=["tcp"], loss_percent=[0, 0.5, 1, 2, 5, 7, 8, 10]),
    full=dict(count=100000),
    plots=[plot("mean-over-loss", "TCP over loss", "mean", x="loss_percent", model=True, paper_figure="figure 5")],
    papers=[paper("99th percentile at 1 %, Linux 2.6.15", "about 200", quantity="p99", variant="tcp", loss_percent=1)],
)

lab.claim("G5", "TCP's mean is within 5 % of equation 5 (the paper: Linux is about 10 ms above it)",
          lambda r: r.mean().near_model(percent=5), variant="tcp", loss_percent=[0.5, 1, 2])
lab.claim("G6", "above 7 % TCP cannot carry 100/s",
          lambda r: r.mean().not_carried(), variant="tcp", loss_percent=[8, 10])
lab.claim("G7", "up to 7 % it can",
          lambda r: r.mean() < 1000, variant="tcp", loss_percent=[0.5, 1, 2, 5, 7])
