"""Lulling and Vaughan 2005, 3.3, figure 9: a bulk connection (Reno) from 20 to 40 s."""

from simco_lab.scenario import Scenario, plot

PATH = dict(delay_ms=[45], link_mbit=[2], queue=["pfifo-50"], rate=[160], cross=["tcp-1@reno"])

lab = Scenario(
    "SIP: a bulk connection for a time",
    source="Lulling, Vaughan 2005, figure 9",
    notes=[
        "The paper does not give the window and the segment size of the bulk connection, and the length of the run. Here the "
        "kernel chooses the window, segments have 1,448 octets, and the run takes 60 s.",
    ],
    workload="sip", measure="one-way", response="none", invite_size=512, abort_lag_s=0, cross_from_s=20, cross_for_s=20,
    matrix=[
        dict(PATH, profile=["ns2"], variant=["udp", "tcp@reno", "tcp@sack", "tcp@vegas", "sctp-unordered"]),
        dict(PATH, profile=["modern", "tuned"], variant=["tcp", "tcp@bbr", "sctp-unordered"]),
    ],
    quick=dict(count=9600),  # 60 s
    full=dict(count=9600, replications=5),
    plots=[plot("delay", "A bulk connection from 20 to 40 s", "trace", paper_figure="figure 9")],
)

lab.claim("F7v", "Vegas' delays rise without end",
          lambda r: r.end() > 2000, profile="ns2", variant="tcp@vegas")
lab.claim("F7r", "Reno's peak is above 2 s",
          lambda r: r.max() > 2000, profile="ns2", variant="tcp@reno")
lab.claim("F7", "the others' are below",
          lambda r: r.max() < 2000, profile="ns2", variant=["udp", "tcp@sack", "sctp-unordered"])
