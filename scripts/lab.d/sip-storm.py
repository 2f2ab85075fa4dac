"""Ours, and F12 of Lulling and Vaughan: do UDP's retransmissions congest? From 71 to 142 % of a link of 2 Mbit/s."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "SIP: overload, and UDP's retransmissions",
    source="ours",
    workload="sip", measure="one-way", response="100", invite_size=512, abort_lag_s=0,
    matrix=dict(variant=["udp", "tcp", "sctp-unordered"], delay_ms=[45], link_mbit=[2], queue=["pfifo-50", "pfifo-250"],
                rate=[320, 400, 480, 560, 640], t1_ms=[500, 200, 100]),
    quick=dict(count=9600, rate=[400, 480], t1_ms=[500]),
    full=dict(count=19200),
    plots=[
        plot("wasted", "Copies beyond the first", "over", quantity="wasted", x="rate", panels=["queue", "t1_ms"]),
        plot("again", "Sent again over UDP", "over", quantity="sent_again", x="rate", panels=["queue", "t1_ms"],
             where=dict(variant="udp")),
        plot("goodput", "Throughput", "over", quantity="goodput", x="rate", panels=["queue", "t1_ms"]),
    ],
)

lab.claim("F12", "UDP's retransmissions do not congest: they are a tenth of the messages at most",
          lambda r: r.sent_again() < 10, variant="udp")
lab.claim("S1", "TCP wastes next to nothing", lambda r: r.wasted() < 100, variant="tcp")
