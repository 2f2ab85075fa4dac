"""Experiment 3 of IKR report 53, as kiesel-exp1 over a longer path."""

from simco_lab.scenario import Scenario, paper, plot

lab = Scenario(
    "SIMCO over loss, 40 ms one way, 100/s",
    source="IKR report 53, section 4.2, figures 20 to 27",
    workload="per", warmup=100, abort_lag_s=0,
    matrix=dict(profile=["modern", "2006", "tuned"],
                variant=["tcp", "sctp-1", "sctp-2", "sctp-4", "sctp-8", "sctp-16", "sctp-1024", "quic-1", "quic-16"],
                delay_ms=[40], loss_percent=[0, 0.1, 0.2, 0.5, 1, 2, 2.5, 5, 7, 10], rate=[100]),
    quick=dict(count=2000, profile=["modern", "tuned"], variant=["tcp", "sctp-1", "sctp-4", "sctp-16", "quic-16"],
               loss_percent=[0, 1, 2.5, 5]),
    full=dict(count=40000),
    plots=[
        plot("mean-over-loss", "Experiment 3: delay over loss", "mean", x="loss_percent", log_x=True, model=True,
             paper_figure="figure 20", where=dict(profile=["2006", "tuned"])),
        plot("mean-over-streams", "Experiment 3: delay over streams", "mean", x="streams", curves="loss_percent", log_x=True,
             model=True,
             where=dict(profile=["2006", "tuned"], variant=["sctp-1", "sctp-2", "sctp-4", "sctp-8", "sctp-16", "sctp-1024"])),
        plot("ccdf", "Experiment 3: CCDF", "ccdf", panels=["loss_percent"],
             where=dict(profile=["2006", "tuned"], loss_percent=[1, 5])),
    ],
    papers=[paper("mean without loss (axis of figure 20)", 80, variant="tcp", loss_percent=0)],
)

lab.claims_of("kiesel-exp1")
