"""Camarillo et al. 2009, table 4 and figure 9: across the Internet."""

from simco_lab.scenario import Scenario, paper, plot

BOTH = ["sctp-1", "sctp-unordered"]
LINK = dict(link_mbit=[2], queue=["pfifo-264"])

lab = Scenario(
    "SIP: across the Internet, approximated",
    source="JCN 2009, table 4, figure 9",
    notes=[
        "The Internet is approximated: a link of 2 Mbit/s whose queue lasts as long as the paper's longest ping (1.6 s), and 0.5 "
        "% of loss where nothing competes.",
    ],
    workload="sip", seeds="own", abort_lag_s=0,
    matrix=[
        dict(LINK, scale="full", variant=[*BOTH, "tcp"], delay_ms=[35, 60], loss_percent=[0.5], rate=[20, 40]),
        dict(LINK, scale="full", variant=[*BOTH, "tcp"], delay_ms=[35, 60], cross=["tcp-2"], rate=[20, 40]),
        dict(LINK, scale="quick", variant=BOTH, delay_ms=[35, 60], loss_percent=[0.5], rate=[40]),
        dict(LINK, scale="quick", variant=BOTH, delay_ms=[60], loss_percent=[0.5], rate=[20]),
        dict(LINK, scale="quick", variant=BOTH, delay_ms=[35, 60], cross=["tcp-2"], rate=[40]),
    ],
    quick=dict(count={20: 600, 40: 1200}, replications=8),  # 30 s
    full=dict(count={20: 1200, 40: 2400}, replications=10),
    plots=[
        plot("p95", "Across the Internet, approximated", "over", quantity="p95", x="cross", panels=["delay_ms", "rate"],
             paper_figure="figure 9"),
    ],
    papers=[paper("P95 beside 2 TCP (figure 9: above)", 4000, quantity="p95", variant=BOTH, cross="tcp-2")],
)

lab.claim("D1", "without bulk TCP ordered delivery is slower",
          lambda r: r.p95("sctp-unordered").faster_than(r.p95("sctp-1")), cross="none", delay_ms=35)
lab.claim("D1t", "beside two bulk connections it is not",
          lambda r: r.p95("sctp-unordered").like(r.p95("sctp-1")), cross="tcp-2", delay_ms=35)
lab.claim("D1u", "nor on the longer path",
          lambda r: r.p95("sctp-unordered").like(r.p95("sctp-1")), cross="tcp-2", delay_ms=60)
lab.claim("D1n", "without bulk TCP, on the longer path ordered delivery is slower at 40/s",
          lambda r: r.p95("sctp-unordered").faster_than(r.p95("sctp-1")), cross="none", delay_ms=60, rate=40)
lab.claim("D1m", "and not at 20/s",
          lambda r: r.p95("sctp-unordered").like(r.p95("sctp-1")), cross="none", delay_ms=60, rate=20)
lab.claim("D2", "beside two bulk connections P95 is above 4 s",
          lambda r: r.p95() > 4000, cross="tcp-2", variant=BOTH)
