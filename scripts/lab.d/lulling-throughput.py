"""Lulling and Vaughan 2005, 3.4, figure 10, tables 1 and 2: SIP's share of a link beside a bulk connection. The first 20 s do not
count."""

from simco_lab.scenario import Scenario, paper, plot

PATH = dict(delay_ms=[45], link_mbit=[2], rate=[160])
FLOWS, TODAY = ["udp", "tcp@reno", "tcp@sack", "tcp@vegas", "sctp-unordered"], ["tcp", "tcp@bbr", "sctp-unordered"]
BUFFERS = [f"pfifo-{packets}" for packets in (5, 20, 50, 100, 150, 200, 250)]
OTHERS = [f"tcp-1@{control}" for control in ("reno", "sack", "cubic", "bbr")]
# Tables 1 and 2: octets/s of these flows, by the packets that the buffer takes.
COLUMNS = ("tcp@vegas", "tcp@reno", "tcp@sack", "udp", "sctp-unordered")
BESIDE_SACK = {
    5: (1845, 5082, 4826, 82015, 6559),
    20: (6359, 6353, 12925, 82008, 16474),
    50: (5480, 11710, 18186, 82013, 21994),
    100: (4871, 16999, 22632, 82011, 23915),
    150: (4871, 44044, 53375, 82015, 44611),
    200: (4871, 80098, 80098, 82014, 65495),
    250: (4871, 80098, 80098, 82015, 82015),
}
BESIDE_VEGAS = {
    5: (21321, 4161, 14195, 82015, 13808),
    20: (50849, 81834, 81834, 82015, 82015),
    50: (50849, 81833, 81833, 82015, 82015),
    100: (50849, 81833, 81833, 82015, 82015),
    150: (50849, 81833, 81833, 82015, 82015),
    200: (50849, 81833, 81833, 82015, 82015),
    250: (50849, 81833, 81833, 82015, 82015),
}

lab = Scenario(
    "SIP: share of the link beside a bulk connection",
    source="Lulling, Vaughan 2005, figure 10, tables 1 and 2",
    notes=[
        "The paper does not give the window and the segment size of the bulk connection, and the length of its runs. Here the "
        "kernel chooses the window, and segments have 1,448 octets.",
        "Behind 5 packets, shares depend on these. One run each of profile ns2, Reno beside SACK, 40 s, octets/s: 22,100; with "
        "bulk segments of 960 octets 11,600, of 512 octets 81,500 (and the bulk connection 88,000 instead of 186,000); of 960 "
        "and a window of 20 of them 47,000; if the sink acknowledges each segment 16,500; if the links at the edges have no rate "
        "of their own 15,500; over 200 s 18,700. What differs is how often a retransmission is lost, too, so that only a timeout "
        "helps: 34 times with segments of 960, 5 with 1,448, never with 512.",
        "Behind 250 packets Reno's share depends on its first seconds (one run looked into). The slow start of the bulk "
        "connection has filled the queue (round trip 1.4 s) when it begins, so it meets two timeouts, one packet lost; from then "
        "on its window grows by one message in a round trip of 0.8 to 1 s. It loses nothing more.",
        "The three runs of a point differ in the arrivals of messages alone. Intervals of shares say nothing of other windows and "
        "segments of the bulk connection, nor of when it begins.",
        "At full scale a run has 200 s, of which the first 20 do not count. What piled up in these arrives in the counted part, "
        "too, so a transport can carry more than is offered.",
    ],
    workload="sip", measure="one-way", response="none", invite_size=512, tables=["goodput", "share"], abort_lag_s=0, skip_s=20,
    matrix=[
        dict(PATH, profile=["ns2"], variant=FLOWS, queue=BUFFERS, cross=OTHERS),
        dict(PATH, scale="full", profile=["modern", "tuned"], variant=TODAY, queue=BUFFERS, cross=OTHERS),
        dict(PATH, scale="quick", profile=["modern"], variant=["tcp", "sctp-unordered"],
             queue=["pfifo-5", "pfifo-50", "pfifo-250"], cross=["tcp-1@sack"]),
        # Table 2 at one buffer; at full scale at each.
        dict(PATH, profile=["ns2"], variant=FLOWS, queue=["pfifo-50"], cross=["tcp-1@vegas"]),
        dict(PATH, scale="full", profile=["ns2"], variant=FLOWS, queue=BUFFERS, cross=["tcp-1@vegas"]),
        dict(PATH, scale="full", profile=["modern", "tuned"], variant=TODAY, queue=BUFFERS, cross=["tcp-1@vegas"]),
    ],
    quick=dict(count=4800, replications=3, profile=["ns2", "modern"],  # 30 s, of which the last 10 count
               variant=[*FLOWS, "tcp"],
               queue=["pfifo-5", "pfifo-20", "pfifo-50", "pfifo-150", "pfifo-250"], cross=["tcp-1@sack", "tcp-1@vegas"]),
    full=dict(count=32000, replications=3),  # 200 s
    plots=[
        plot("share", "Share of the throughput", "over", quantity="share", x="queue", panels=["cross"],
             paper_figure="figure 10 a"),
        plot("throughput", "Throughput", "over", quantity="goodput", x="queue", panels=["cross"], paper_figure="figure 10 b"),
    ],
    papers=[
        paper(f"table {table}, beside {other}, {packets} packets: octets/s", dict(zip(COLUMNS, octets)), quantity="goodput",
              profile="ns2", queue=f"pfifo-{packets}", cross=f"tcp-1@{other.lower()}")
        for table, other, rows in ((1, "SACK", BESIDE_SACK), (2, "Vegas", BESIDE_VEGAS)) for packets, octets in rows.items()
    ],
)

lab.claim("F8", "Reno, SACK and SCTP carry less the shorter the buffer is",
          lambda r: r.goodput().rises_along("queue"), profile="ns2", variant=["tcp@reno", "tcp@sack", "sctp-unordered"])
lab.claim("F8u", "UDP carries all that is offered", lambda r: r.carried() > 99, variant="udp")
lab.claim("F8s", "its share rises as the buffer shrinks",
          lambda r: r.share().falls_along("queue"), profile="ns2", variant="udp")
lab.claim("F8v", "Vegas has a small share, whatever the buffer",
          lambda r: r.share() < 10, profile="ns2", variant="tcp@vegas", cross=["tcp-1@reno", "tcp-1@sack"])
lab.claim("F8c", "which does not fall as the buffer grows",
          lambda r: r.share().never_falls_along("queue"), profile="ns2", variant="tcp@vegas",
          cross=["tcp-1@reno", "tcp-1@sack"])
lab.claim("F8d", "and does not rise",
          lambda r: r.share().never_rises_along("queue"), profile="ns2", variant="tcp@vegas",
          cross=["tcp-1@reno", "tcp-1@sack"])
lab.claim("F9", "SACK carries more than Reno and SCTP",
          lambda r: r.goodput("tcp@reno", "sctp-unordered") < r.goodput("tcp@sack"), profile="ns2",
          cross=["tcp-1@reno", "tcp-1@sack"])
lab.claim("F9m", "its lead is greater behind 50 packets than behind 5",
          lambda r: r.goodput("tcp@reno", "sctp-unordered").flatter_than(r.goodput("tcp@sack"), "queue", 5, 50),
          profile="ns2", cross=["tcp-1@reno", "tcp-1@sack"])
lab.claim("F9n", "and than behind 250",
          lambda r: r.goodput("tcp@sack").flatter_than(r.goodput("tcp@reno", "sctp-unordered"), "queue", 50, 250),
          profile="ns2", cross=["tcp-1@reno", "tcp-1@sack"])
lab.claim("F10", "two Vegas flows carry less in all than two of SACK",
          lambda r: r.total("tcp@vegas", cross="tcp-1@vegas") < r.total("tcp@sack", cross="tcp-1@sack"), profile="ns2")
lab.claim("O2", "today's TCP carries all that is offered, too",
          lambda r: r.carried() > 95, profile="modern", variant="tcp")
