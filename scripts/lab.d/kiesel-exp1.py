"""Experiment 1 of Kiesel, Scharf, Beutel and Ruschival, "Performance Measurements of SIMCO over TCP
and SCTP", IKR internal report 53, 2006. The report gives the range of losses and the special
values 0, 2.5 and 5 % in its text; the other points of the figures are ours."""

from simco_lab.scenario import Scenario, paper, plot

lab = Scenario(
    "SIMCO over loss, 10 ms one way, 100/s",
    source="IKR report 53, section 4.2, figures 4 to 11",
    workload="per", warmup=100, abort_lag_s=0,
    matrix=dict(profile=["modern", "2006", "tuned"],
                variant=["tcp", "sctp-1", "sctp-2", "sctp-4", "sctp-8", "sctp-16", "sctp-1024", "quic-1", "quic-16"],
                delay_ms=[10], loss_percent=[0, 0.1, 0.2, 0.5, 1, 2, 2.5, 5, 7, 10], rate=[100]),
    quick=dict(count=2000, profile=["modern", "tuned"], variant=["tcp", "sctp-1", "sctp-4", "sctp-16", "quic-16"],
               loss_percent=[0, 1, 2.5, 5]),
    full=dict(count=80000),
    plots=[
        plot("mean-over-loss", "Experiment 1: delay over loss", "mean", x="loss_percent", log_x=True, model=True,
             paper_figure="figure 4",
             where=dict(profile=["2006", "tuned"], variant=["tcp", "sctp-1", "sctp-2", "sctp-4", "sctp-8", "sctp-16", "sctp-1024", "quic-16"])),
        plot("mean-over-streams", "Experiment 1: delay over streams", "mean", x="streams", curves="loss_percent", log_x=True,
             model=True,
             where=dict(profile=["2006", "tuned"], variant=["sctp-1", "sctp-2", "sctp-4", "sctp-8", "sctp-16", "sctp-1024"])),
        plot("ccdf", "Experiment 1: CCDF", "ccdf", panels=["loss_percent"],
             where=dict(profile=["2006", "tuned"], loss_percent=[1, 2.5, 5])),
    ],
    papers=[paper("mean without loss (axis of figure 4)", 20, variant="tcp", loss_percent=0)],
)

lab.claim("E1", "without loss all variants have the same mean",
          lambda r: r.mean().equal(within_ms=0.2), loss_percent=0)
lab.claim("E2", "a single SCTP stream has a lower mean than TCP under loss",
          lambda r: r.mean("sctp-1") < r.mean("tcp"), loss_percent=[0.5, 1, 2, 2.5, 5, 7, 10])
lab.claim("E2b", "SCTP with 16 streams has a lower mean than TCP under loss",
          lambda r: r.mean("sctp-16") < r.mean("tcp"), loss_percent=[0.5, 1, 2, 2.5, 5, 7, 10])
lab.claim("E3", "more streams are never worse", lambda r: r.mean().never_rises_along("streams"))
lab.claim("E4", "SCTP's mean is within 5 % of equation 5 up to 1 % loss",
          lambda r: r.mean().near_model(percent=5), variant=["sctp-1", "sctp-2", "sctp-4", "sctp-8", "sctp-16", "sctp-1024"],
          loss_percent=[0.1, 0.2, 0.5, 1])
lab.claim("E5", "TCP's 99th percentile is more than twice that of SCTP with 16 streams at 1 %",
          lambda r: r.p99("sctp-16") < 0.5 * r.p99("tcp"), loss_percent=1)
lab.claim("W1", "tuned, SCTP with 16 streams has a lower 95th percentile than TCP",
          lambda r: r.p95("sctp-16") < r.p95("tcp"), profile="tuned", loss_percent=[0.5, 1, 2, 2.5, 5])
lab.claim("W2", "tuned, SCTP with 16 streams has a 99.9th percentile no worse than TCP's",
          lambda r: r.p999("sctp-16") <= r.p999("tcp"), profile="tuned", loss_percent=[0.5, 1, 2, 2.5, 5])
lab.claim("W3", "tuned, SCTP with 16 streams is at most 5 % above equation 5 up to 2.5 %",
          lambda r: r.mean().at_most_above_model(percent=5), profile="tuned", variant=["sctp-16", "sctp-1024"],
          loss_percent=[0.1, 0.2, 0.5, 1, 2, 2.5])
lab.claims_of("kiesel-exp5", "Q1", "Q2", "Q3", loss_percent=[0.1, 0.2, 0.5, 1, 2, 2.5, 5])
