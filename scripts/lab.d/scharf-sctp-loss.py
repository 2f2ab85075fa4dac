"""Figure 4 of the Globecom 2006 paper of Scharf and Kiesel, "Head-of-line Blocking in TCP and SCTP:
Analysis and Measurements". Stream counts are not in its text; these are ours."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "Echo over SCTP: streams and loss",
    source="Globecom 2006, figure 4",
    workload="echo", abort_lag_s=0,
    matrix=dict(profile=["modern", "2006", "tuned"],
                variant=["sctp-1", "sctp-2", "sctp-4", "sctp-8", "sctp-16", "sctp-1024", "sctp-unordered", "quic-16"],
                delay_ms=[10], loss_percent=[0, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5], rate=[100]),
    quick=dict(count=3000, profile=["2006", "tuned"], variant=["sctp-1", "sctp-4", "sctp-16", "sctp-unordered", "quic-16"],
               loss_percent=[0, 1, 2, 5]),
    full=dict(count=100000),
    plots=[plot("mean-over-loss", "SCTP over loss", "mean", x="loss_percent", model=True, paper_figure="figure 4")],
)

lab.claim("E4", "the mean is within 5 % of equation 5",
          lambda r: r.mean().near_model(percent=5), loss_percent=[0.1, 0.2, 0.5, 1])
lab.claim("E3", "more streams are never worse", lambda r: r.mean().never_rises_along("streams"))
lab.claim("E3b", "16 streams and unordered delivery have the same mean up to 2 %",
          lambda r: r.mean().equal(within_ms=0.5), variant=["sctp-16", "sctp-unordered"],
          loss_percent=[0, 0.1, 0.2, 0.5, 1, 2])
