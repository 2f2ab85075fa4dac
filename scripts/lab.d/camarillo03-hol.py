"""Camarillo et al. 2003, tables 1 to 3: does head-of-line blocking matter? 85 % of the link without other traffic, 50 % with
random loss, 39 and 28 % beside bulk TCP."""

from simco_lab.scenario import Scenario, paper, plot

BOTH = ["sctp-1", "sctp-unordered"]
LINK = dict(variant=BOTH, delay_ms=[45], link_mbit=[1.7], queue=["pfifo-50"])


def compared(words, means, variances, apart, **where):
    """Returns a row of the paper's tables: means and variances (ms²) without order and in order, and their difference."""
    return [paper(f"{words}: mean", dict(zip(BOTH[::-1], means)), **where),
            paper(f"{words}: variance (ms²)", dict(zip(BOTH[::-1], variances)), quantity="variance", **where),
            paper(f"{words}: unordered less in order", apart, less=dict(variant=BOTH[1]), than=dict(variant=BOTH[0]), **where)]


lab = Scenario(
    "SIP: head-of-line blocking",
    source="Evaluation of transport protocols for SIP, 2003, tables 1 to 3",
    notes=[
        "The paper does not give the size of the router's buffer, the length of its runs, and the window of the bulk "
        "connections. Buffer and window are swept.",
        "What the paper calls TCP is SCTP in order.",
        "Profile ns2 acknowledges every packet, and the same packets leave and arrive at the same times in order and not. With "
        "delayed acknowledgements (modern) they do so until the first hole closes: messages that waited for it are read together "
        "then, and the kernel at once tells how much room it has again, which acknowledges them. Unordered messages have been "
        "read by then, and the acknowledgement waits for the next packet, up to 200 ms. From there on the sender's windows "
        "differ, and with them its waits, in either direction; behind 10 and 20 packets the queue then drops other packets, too.",
    ],
    workload="sip", measure="one-way", warmup=500, response="none", invite_size=500, abort_lag_s=0, drain_s=120, capture=True,
    # Beside bulk connections with greater windows, SIP's queue is not empty 120 s after the last message.
    matrix=[
        dict(LINK, profile=["ns2", "modern"], queue=["pfifo-10", "pfifo-20", "pfifo-50"], rate=[330]),
        dict(LINK, scale="full", profile=["ns2"], queue=[f"pfifo-{packets}" for packets in range(5, 10)], rate=[330]),
        dict(LINK, profile=["ns2", "modern"], loss_percent=[0.2, 0.3], lose=["messages"], rate=[194]),
        dict(LINK, profile=["ns2"], cross=["tcp-1"], cross_window=[20, 28, 30], rate=[151]),
        dict(LINK, profile=["modern"], cross=["tcp-1"], cross_window=[20, 30, 40], rate=[151]),
        dict(LINK, profile=["ns2"], cross=["tcp-2"], cross_window=[10, 18, 20], rate=[109]),
        dict(LINK, profile=["modern"], cross=["tcp-2"], cross_window=[10, 20, 22], rate=[109]),
    ],
    quick=dict(count=6000, replications=3, queue=["pfifo-10", "pfifo-50"], cross_window=[0, 20, 30]),
    full=dict(count=44200, replications=10),
    plots=[plot("parts-loss", "Where the delay comes from, 0.3 %", "parts", where=dict(loss_percent=0.3))],
    papers=[
        *compared("table 1, 85 % of the link", (397.4, 400.8), (72735.5, 72416.9), "-3.4 (-6.95 to 0.15), x 1.0085", rate=330),
        *compared("table 2, 0.2 %", (455.9, 459.3), (382063, 382171), "-3.4 (-11.58 to 4.71), x 1.0074", rate=194,
                  loss_percent=0.2),
        *compared("table 2, 0.3 %", (840.8, 844.8), (862894, 862563), "-4.0 (-16.18 to 8.30), x 1.0047", rate=194,
                  loss_percent=0.3),
        *compared("table 3, 1 bulk TCP", (757.2, 771.2), (361544, 361980), "-14.0 (-21.92 to -6.06), x 1.0184", cross="tcp-1"),
        paper("table 3, 1 bulk TCP: P95", 1633.4, quantity="p95", cross="tcp-1", variant="sctp-unordered"),
        *compared("table 3, 2 bulk TCP", (589.1, 606.9), (582583, 598105), "-17.8 (-27.89 to -7.63), x 1.0302", cross="tcp-2"),
        paper("table 3, 2 bulk TCP: P95", 2196.4, quantity="p95", cross="tcp-2", variant="sctp-unordered"),
    ],
)

lab.claim("E4", "head-of-line blocking has no effect on the mean, with losses of its own and random ones",
          lambda r: r.mean("sctp-unordered").like(r.mean("sctp-1")), cross="none")
lab.claim("E5", "it has one beside bulk TCP",
          lambda r: r.mean("sctp-unordered") < r.mean("sctp-1"), cross=["tcp-1", "tcp-2"])
lab.claim("E6", "what it costs grows with the losses",
          lambda r: r.behind().rises_along("loss_percent"), variant="sctp-1", cross="none", lose="messages")
lab.claim("E7", "beside bulk TCP P95 is above 1 s even without it",
          lambda r: r.p95() > 1000, cross=["tcp-1", "tcp-2"], variant="sctp-unordered")
lab.claim("P1", "unordered messages never wait behind others",
          lambda r: r.behind() < 0.1, variant="sctp-unordered")
lab.claim("P2", "in order or not, messages wait for the same windows",
          lambda r: r.sender().equal(within_ms=0.1), profile="ns2", cross="none", variant=BOTH)
lab.claim("P2d", "with delayed acknowledgements, too",
          lambda r: r.sender().equal(within_ms=0.1), profile="modern", cross="none", variant=BOTH)
lab.claim("P3", "in order or not, they are under way for the same time",
          lambda r: r.network().equal(within_ms=0.1), cross="none", variant=BOTH)
