"""Camarillo et al. 2009, table 2, figures 5 and 6: beside bulk TCP."""

from simco_lab.scenario import Scenario, paper, plot

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
        dict(scale="full", profile=["2006", "modern"], variant=["sctp-1", "sctp-unordered", "tcp", "udp"], delay_ms=[20, 60],
             queue=["drd-10-20", "drd-50-60"], cross=["tcp-1", "tcp-2", "tcp-4", "tcp-6"], rate=[20, 40]),
        dict(scale="quick", profile=["2006"], variant=["sctp-1", "sctp-unordered", "tcp"], delay_ms=[20], queue=["drd-10-20"],
             cross=["tcp-1", "tcp-2", "tcp-4"], rate=[40]),
        dict(scale="quick", profile=["2006"], variant=["sctp-1", "sctp-unordered"], delay_ms=[20], queue=["drd-10-20"],
             cross=["tcp-6"], rate=[40]),
        dict(scale="quick", profile=["2006"], variant=["sctp-1", "sctp-unordered"], delay_ms=[20], queue=["drd-50-60"],
             cross=["tcp-1", "tcp-2"], rate=[40]),
        # The longer path, at both rates.
        dict(scale="quick", profile=["2006"], variant=["sctp-1", "sctp-unordered"], delay_ms=[60], queue=["drd-10-20"],
             cross=["tcp-1"], rate=[20, 40]),
        dict(scale="quick", profile=["2006"], variant=["sctp-unordered"], delay_ms=[60], queue=["drd-10-20"], cross=["tcp-2"],
             rate=[20, 40]),
    ],
    quick=dict(count={20: 600, 40: 1200}, replications=6),  # 30 s
    full=dict(count={20: 1200, 40: 2400}, replications=10),
    plots=[
        plot("p95", "Beside bulk TCP", "over", quantity="p95", x="cross", panels=["queue", "delay_ms", "rate"],
             paper_figure="figures 5 and 6"),
    ],
    papers=[
        paper("P95 in order beside 1 TCP", 200, quantity="p95", variant="sctp-1", queue="drd-10-20", cross="tcp-1", delay_ms=20,
              rate=40),
        paper("P95 unordered beside 2 TCP", 200, quantity="p95", variant="sctp-unordered", queue="drd-10-20", cross="tcp-2",
              delay_ms=20, rate=40),
    ],
)


@lab.claim("in most places the longer queue is faster", variant=["sctp-1", "sctp-unordered"])
def B1(r):
    return r.p95(queue="drd-50-60").faster_than(r.p95(queue="drd-10-20")).at_more_than(0.5)


@lab.claim("the delay rises with the number of TCP connections", variant=["sctp-1", "sctp-unordered"])
def B2(r):
    return r.p95().rises_along("cross")


@lab.claim("ordered delivery is slower", queue="drd-10-20")
def B3(r):
    return r.p95("sctp-unordered").faster_than(r.p95("sctp-1"))


@lab.claim("and with the longer queue, beyond one connection", queue="drd-50-60", cross=["tcp-2", "tcp-4", "tcp-6"])
def B3l(r):
    return r.p95("sctp-unordered").faster_than(r.p95("sctp-1"))


@lab.claim("with the longer queue and one connection both are near the round-trip time", variant=["sctp-1", "sctp-unordered"],
           queue="drd-50-60", cross="tcp-1")
def B3e(r):
    return r.p95().within(below=5, rtts=1)


@lab.claim("where ordered delivery is not slower", queue="drd-50-60", cross="tcp-1")
def B3a(r):
    return r.p95("sctp-unordered").like(r.p95("sctp-1"))


@lab.claim("as many connections cost more with the shorter queue", variant=["sctp-1", "sctp-unordered"])
def B4(r):
    return r.p95(queue="drd-50-60") < r.p95(queue="drd-10-20")


@lab.claim("with the shorter queue, from one to two connections unordered delivery slows down more than ordered",
           queue="drd-10-20")
def B5(r):
    return r.p95("sctp-1").flatter_than(r.p95("sctp-unordered"), "cross", 1, 2)


@lab.claim("and less from two to four", queue="drd-10-20")
def B5l(r):
    return r.p95("sctp-unordered").flatter_than(r.p95("sctp-1"), "cross", 2, 4)


@lab.claim("and from four to six", queue="drd-10-20")
def B5m(r):
    return r.p95("sctp-unordered").flatter_than(r.p95("sctp-1"), "cross", 4, 6)


@lab.claim("with the longer queue unordered delivery slows down more than ordered from four to six, on the shorter path",
           queue="drd-50-60", delay_ms=20)
def B5q(r):
    return r.p95("sctp-1").flatter_than(r.p95("sctp-unordered"), "cross", 4, 6)


@lab.claim("less than 5 % is lost beside one connection, on the shorter path", variant=["sctp-1", "sctp-unordered"],
           queue="drd-10-20", cross="tcp-1", delay_ms=20)
def B6a(r):
    return r.lost_share() < 5


@lab.claim("and on the longer one with 20 calls/s", variant=["sctp-1", "sctp-unordered"], queue="drd-10-20", cross="tcp-1",
           delay_ms=60, rate=20)
def B6l(r):
    return r.lost_share() < 5


@lab.claim("but more with 40 calls/s there", variant=["sctp-1", "sctp-unordered"], queue="drd-10-20", cross="tcp-1", delay_ms=60,
           rate=40)
def B6e(r):
    return r.lost_share() > 5


@lab.claim("more than 5 % is lost beside two", variant=["sctp-1", "sctp-unordered"], queue="drd-10-20", cross="tcp-2")
def B6b(r):
    return r.lost_share() > 5


@lab.claim("SCTP sends some chunks again without need", variant=["sctp-1", "sctp-unordered"], queue="drd-10-20")
def B7(r):
    return r.wasted().in_some_run(above=0)


@lab.claim("40 calls/s are faster than 20", variant=["sctp-1", "sctp-unordered"])
def B8(r):
    return r.p95(rate=40) < r.p95(rate=20)


@lab.claim("in order beside one connection takes about 200 ms (10 % more or less)", variant="sctp-1", queue="drd-10-20",
           cross="tcp-1", delay_ms=20, rate=40)
def B9o(r):
    return r.p95().within(below=220, above=180)


@lab.claim("and so does unordered beside two", variant="sctp-unordered", queue="drd-10-20", cross="tcp-2", delay_ms=20, rate=40)
def B9u(r):
    return r.p95().within(below=220, above=180)


@lab.claim("in order beside one connection is like unordered beside two, on the shorter path", queue="drd-10-20", delay_ms=20)
def B10(r):
    return r.p95("sctp-1", cross="tcp-1").like(r.p95("sctp-unordered", cross="tcp-2"))


@lab.claim("and on the longer one with 20 calls/s", queue="drd-10-20", delay_ms=60, rate=20)
def B10l(r):
    return r.p95("sctp-1", cross="tcp-1").like(r.p95("sctp-unordered", cross="tcp-2"))


@lab.claim("but slower with 40 calls/s there", queue="drd-10-20", delay_ms=60, rate=40)
def B10e(r):
    return r.p95("sctp-unordered", cross="tcp-2").faster_than(r.p95("sctp-1", cross="tcp-1"))


@lab.claim("unordered beside six is slower than in order beside one", queue="drd-10-20")
def B10a(r):
    return r.p95("sctp-1", cross="tcp-1").faster_than(r.p95("sctp-unordered", cross="tcp-6"))


@lab.claim("and faster than in order beside two", queue="drd-10-20")
def B10b(r):
    return r.p95("sctp-unordered", cross="tcp-6").faster_than(r.p95("sctp-1", cross="tcp-2"))


@lab.claim("beyond one connection ordered delivery costs even more with the longer queue (by its share)",
           cross=["tcp-2", "tcp-4", "tcp-6"])
def B11h(r):
    return r.p95("sctp-unordered").flatter_than(r.p95("sctp-1"), "queue", 10, 50)


@lab.claim("with the longer queue, in order beside two is like unordered beside six", queue="drd-50-60", delay_ms=20)
def B11(r):
    return r.p95("sctp-unordered", cross="tcp-6").like(r.p95("sctp-1", cross="tcp-2"))


@lab.claim("and slower on the longer path", queue="drd-50-60", delay_ms=60)
def B11l(r):
    return r.p95("sctp-unordered", cross="tcp-6").faster_than(r.p95("sctp-1", cross="tcp-2"))
