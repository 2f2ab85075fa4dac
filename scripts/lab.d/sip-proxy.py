"""Ours: what a proxy adds to the set-up time, without loss and with some. It runs beside the server, so the path is the same."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "SIP: through a proxy",
    source="ours",
    workload="sip",
    matrix=dict(variant=["udp", "tcp", "sctp-1", "sctp-unordered"], delay_ms=[20], loss_percent=[0, 1], rate=[40],
                proxy=["none", "kamailio", "kamailio-tm"]),
    quick=dict(count=400, replications=5, variant=["udp", "tcp", "sctp-unordered"]),
    full=dict(count=9600, replications=5),
    plots=[
        plot("p95", "95 % of the calls, through a proxy", "over", quantity="p95", x="loss_percent", panels=["proxy"]),
    ],
)

lab.claim("X1", "a proxy adds less than 5 % to the median of an exchange of 40 ms",
          lambda r: r.p50(proxy=["kamailio", "kamailio-tm"]) < 1.05 * r.p50(proxy="none"))
lab.claim("X2", "without state it loses nothing, over any transport",
          lambda r: r.unanswered() < 1, proxy=["none", "kamailio"])
lab.claim("X3", "with transactions a 180 that gets lost over UDP is lost for good: its 100 has stopped the client's "
          "timer",
          lambda r: r.unanswered() > 0, proxy="kamailio-tm", variant="udp", loss_percent=1)
lab.claim("X4", "over a transport that loses nothing it answers all with transactions, too",
          lambda r: r.unanswered() < 1, proxy="kamailio-tm", variant=["tcp", "sctp-1", "sctp-unordered"])
