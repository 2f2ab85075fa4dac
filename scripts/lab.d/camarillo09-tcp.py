"""Camarillo et al. 2009, table 2, figures 5 and 6: beside bulk TCP."""

from simco_lab.scenario import Scenario, paper, plot

BOTH = ["sctp-1", "sctp-unordered"]
SHORT = dict(scale="quick", profile=["2006"], delay_ms=[20], rate=[40])
LONG = dict(scale="quick", profile=["2006"], delay_ms=[60], queue=["drd-10-20"], rate=[20, 40])

lab = Scenario(
    "SIP: beside bulk TCP",
    source="JCN 2009, table 2, figures 5 and 6",
    notes=[
        "The paper sets no bandwidth, so the packets in the delay line are the queue. It does not give the kernel's TCP, the "
        "size of the 180, and the direction of the bulk data, which goes with the INVITEs here.",
        "The quick runs have the longer queue beside one and two connections on the shorter path only.",
    ],
    workload="sip", seeds="own", abort_lag_s=0,
    matrix=[
        dict(scale="full", profile=["2006", "modern"], variant=BOTH, delay_ms=[20, 60],
             queue=["drd-10-20", "drd-50-60"], cross=["tcp-1", "tcp-2", "tcp-4", "tcp-6"], rate=[20, 40]),
        dict(SHORT, variant=BOTH, queue=["drd-10-20"], cross=["tcp-1", "tcp-2", "tcp-4", "tcp-6"]),
        dict(SHORT, variant=BOTH, queue=["drd-50-60"], cross=["tcp-1", "tcp-2"]),
        # The longer path, at both rates.
        dict(LONG, variant=BOTH, cross=["tcp-1"]),
        dict(LONG, variant=["sctp-unordered"], cross=["tcp-2"]),
    ],
    quick=dict(count={20: 600, 40: 1200}, replications=6),  # 30 s
    full=dict(count={20: 1200, 40: 2400}, replications=10),
    plots=[plot("p95", "Beside bulk TCP", "over", quantity="p95", x="cross", panels=["queue", "delay_ms", "rate"],
                paper_figure="figures 5 and 6")],
    papers=[
        paper("P95 in order beside 1 TCP", 200, quantity="p95", variant="sctp-1", queue="drd-10-20", cross="tcp-1", delay_ms=20,
              rate=40),
        paper("P95 unordered beside 2 TCP", 200, quantity="p95", variant="sctp-unordered", queue="drd-10-20", cross="tcp-2",
              delay_ms=20, rate=40),
    ],
)

lab.claim("B1", "in most places the longer queue is faster",
          lambda r: r.p95(queue="drd-50-60").faster_than(r.p95(queue="drd-10-20")).at_more_than(0.5), variant=BOTH)
lab.claim("B2", "the delay rises with the number of TCP connections",
          lambda r: r.p95().rises_along("cross"), variant=BOTH)
lab.claim("B3", "ordered delivery is slower",
          lambda r: r.p95("sctp-unordered").faster_than(r.p95("sctp-1")), queue="drd-10-20")
lab.claim("B3l", "and with the longer queue, beyond one connection",
          lambda r: r.p95("sctp-unordered").faster_than(r.p95("sctp-1")), queue="drd-50-60",
          cross=["tcp-2", "tcp-4", "tcp-6"])
lab.claim("B3e", "with the longer queue and one connection both are near the round-trip time",
          lambda r: r.p95().within(below=5, rtts=1), variant=BOTH, queue="drd-50-60", cross="tcp-1")
lab.claim("B3a", "where ordered delivery is not slower",
          lambda r: r.p95("sctp-unordered").like(r.p95("sctp-1")), queue="drd-50-60", cross="tcp-1")
lab.claim("B4", "as many connections cost more with the shorter queue",
          lambda r: r.p95(queue="drd-50-60") < r.p95(queue="drd-10-20"), variant=BOTH)
lab.claim("B5", "with the shorter queue, from one to two connections unordered delivery slows down more than ordered",
          lambda r: r.p95("sctp-1").flatter_than(r.p95("sctp-unordered"), "cross", 1, 2), queue="drd-10-20")
lab.claim("B5l", "and less from two to four",
          lambda r: r.p95("sctp-unordered").flatter_than(r.p95("sctp-1"), "cross", 2, 4), queue="drd-10-20")
lab.claim("B5m", "and from four to six",
          lambda r: r.p95("sctp-unordered").flatter_than(r.p95("sctp-1"), "cross", 4, 6), queue="drd-10-20")
lab.claim("B5q", "with the longer queue unordered delivery slows down more than ordered from four to six, on the "
          "shorter path",
          lambda r: r.p95("sctp-1").flatter_than(r.p95("sctp-unordered"), "cross", 4, 6), queue="drd-50-60",
          delay_ms=20)
lab.claim("B6a", "less than 5 % is lost beside one connection, on the shorter path",
          lambda r: r.lost_share() < 5, variant=BOTH, queue="drd-10-20", cross="tcp-1", delay_ms=20)
lab.claim("B6l", "and on the longer one with 20 calls/s",
          lambda r: r.lost_share() < 5, variant=BOTH, queue="drd-10-20", cross="tcp-1", delay_ms=60, rate=20)
lab.claim("B6e", "but more with 40 calls/s there",
          lambda r: r.lost_share() > 5, variant=BOTH, queue="drd-10-20", cross="tcp-1", delay_ms=60, rate=40)
lab.claim("B6b", "more than 5 % is lost beside two",
          lambda r: r.lost_share() > 5, variant=BOTH, queue="drd-10-20", cross="tcp-2")
lab.claim("B7", "SCTP sends some chunks again without need",
          lambda r: r.wasted().in_some_run(above=0), variant=BOTH, queue="drd-10-20")
lab.claim("B8", "40 calls/s are faster than 20",
          lambda r: r.p95(rate=40) < r.p95(rate=20), variant=BOTH)
lab.claim("B9o", "in order beside one connection takes about 200 ms (10 % more or less)",
          lambda r: r.p95().within(below=220, above=180), variant="sctp-1", queue="drd-10-20", cross="tcp-1",
          delay_ms=20, rate=40)
lab.claim("B9u", "and so does unordered beside two",
          lambda r: r.p95().within(below=220, above=180), variant="sctp-unordered", queue="drd-10-20", cross="tcp-2",
          delay_ms=20, rate=40)
lab.claim("B10", "in order beside one connection is like unordered beside two, on the shorter path",
          lambda r: r.p95("sctp-1", cross="tcp-1").like(r.p95("sctp-unordered", cross="tcp-2")), queue="drd-10-20",
          delay_ms=20)
lab.claim("B10l", "and on the longer one with 20 calls/s",
          lambda r: r.p95("sctp-1", cross="tcp-1").like(r.p95("sctp-unordered", cross="tcp-2")), queue="drd-10-20",
          delay_ms=60, rate=20)
lab.claim("B10e", "but slower with 40 calls/s there",
          lambda r: r.p95("sctp-unordered", cross="tcp-2").faster_than(r.p95("sctp-1", cross="tcp-1")),
          queue="drd-10-20", delay_ms=60, rate=40)
lab.claim("B10a", "unordered beside six is slower than in order beside one",
          lambda r: r.p95("sctp-1", cross="tcp-1").faster_than(r.p95("sctp-unordered", cross="tcp-6")),
          queue="drd-10-20")
lab.claim("B10b", "and faster than in order beside two",
          lambda r: r.p95("sctp-unordered", cross="tcp-6").faster_than(r.p95("sctp-1", cross="tcp-2")),
          queue="drd-10-20")
lab.claim("B11h", "beyond one connection ordered delivery costs even more with the longer queue (by its share)",
          lambda r: r.p95("sctp-unordered").flatter_than(r.p95("sctp-1"), "queue", 10, 50),
          cross=["tcp-2", "tcp-4", "tcp-6"])
lab.claim("B11", "with the longer queue, in order beside two is like unordered beside six",
          lambda r: r.p95("sctp-unordered", cross="tcp-6").like(r.p95("sctp-1", cross="tcp-2")), queue="drd-50-60",
          delay_ms=20)
lab.claim("B11l", "and slower on the longer path",
          lambda r: r.p95("sctp-unordered", cross="tcp-6").faster_than(r.p95("sctp-1", cross="tcp-2")),
          queue="drd-50-60", delay_ms=60)
