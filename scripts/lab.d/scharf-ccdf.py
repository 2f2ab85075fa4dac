"""Figure 6 of the Globecom 2006 paper of Scharf and Kiesel: distributions at 1 % loss."""

from simco_lab.scenario import Scenario, paper, plot

lab = Scenario(
    "Echo: distributions at 1 % loss",
    source="Globecom 2006, figure 6",
    workload="echo",
    matrix=dict(profile=["modern", "2006", "tuned"],
                variant=["tcp", "sctp-1", "sctp-2", "sctp-4", "sctp-16", "sctp-unordered", "quic-1", "quic-16"], delay_ms=[10],
                loss_percent=[1], rate=[100]),
    quick=dict(count=20000, profile=["2006", "tuned"]),
    full=dict(count=100000),
    plots=[plot("ccdf", "CCDF at 1 % loss, 100/s", "ccdf", paper_figure="figure 6")],
    papers=[paper("99th percentile, Linux 2.6.15 TCP", "about 200", quantity="p99", variant="tcp")],
)

lab.claim("E5", "TCP's 99th percentile is above that of SCTP with one stream",
          lambda r: r.p99("sctp-1") < r.p99("tcp"))
lab.claim("E5b", "TCP's 99th percentile is above that of SCTP with 16 streams",
          lambda r: r.p99("sctp-16") < r.p99("tcp"))
lab.claim("G8", "with more than six streams the mean is that of unordered delivery",
          lambda r: r.mean("sctp-16").like(r.mean("sctp-unordered")))
lab.claim("G9", "small steps at R = 30 ms, where two chunks were bundled",
          lambda r: r.bundled().within(above=0.1, runs="every"), variant=["sctp-16", "sctp-unordered"])
