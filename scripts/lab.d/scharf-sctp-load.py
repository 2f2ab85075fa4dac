"""Figure 7 of the Globecom 2006 paper of Scharf and Kiesel: load on one association at 1 % loss."""

from simco_lab.scenario import Scenario, paper, plot

lab = Scenario(
    "Echo over SCTP: streams and load",
    source="Globecom 2006, figure 7",
    workload="echo",
    matrix=dict(profile=["modern", "2006", "tuned"],
                variant=["sctp-1", "sctp-2", "sctp-4", "sctp-8", "sctp-16", "sctp-1024", "sctp-unordered"],
                delay_ms=[10], loss_percent=[1], rate=[1, 3, 10, 30, 100, 300, 1000, 2000, 3000, 5000]),
    quick=dict(count={1: 300, 10: 1000, 100: 2000, 1000: 5000}, profile=["2006", "tuned"],
               variant=["sctp-1", "sctp-4", "sctp-16", "sctp-unordered"], rate=[1, 10, 100, 1000]),
    full=dict(count={1: 2000, 10: 10000, 100: 100000, 1000: 200000}),
    plots=[
        plot("mean-over-load", "SCTP over load, 1 % loss", "mean", x="rate", log_x=True, model=True, paper_figure="figure 7"),
    ],
    papers=[paper("highest rate, Linux SCTP (see where the curves end)", "about 2000/s")],
)

lab.claim("E4", "the mean is within 10 % of equation 5",
          lambda r: r.mean().near_model(percent=10), rate=[10, 30, 100])
lab.claim("E3", "more streams are never worse",
          lambda r: r.mean().never_rises_along("streams"), rate=[10, 30, 100, 300, 1000])
