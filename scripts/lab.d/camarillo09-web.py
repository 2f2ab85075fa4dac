"""Camarillo et al. 2009, table 3 and figure 8: beside web sessions of three downloads, 10 s apart, of 85 kB in all."""

from simco_lab.scenario import Scenario, plot

BOTH = ["sctp-1", "sctp-unordered"]
SESSIONS = ["web-1", "web-2", "web-3"]

lab = Scenario(
    "SIP: beside web sessions",
    source="JCN 2009, table 3, figure 8",
    notes=[
        "The paper does not say how the 85 kB of a download are split, which way they go, and what window the server begins "
        "with. Here they are 5,000, 40,000 and 40,000 octets, and go with the INVITEs.",
    ],
    workload="sip", seeds="own", abort_lag_s=0,
    matrix=[
        dict(scale="full", profile=["2006", "modern"], variant=BOTH, delay_ms=[20, 60],
             queue=["drd-10-20", "drd-50-60"], cross=["none", *SESSIONS], rate=[20, 40]),
        dict(scale="quick", profile=["2006"], variant=BOTH, delay_ms=[20],
             queue=["drd-10-20", "drd-50-60"], cross=["none", "web-1", "web-3"], rate=[40]),
        # The other rate, where blocking counts.
        dict(scale="quick", profile=["2006"], variant=BOTH, delay_ms=[20], queue=["drd-10-20"],
             cross=["web-1", "web-3"], rate=[20]),
    ],
    quick=dict(count={20: 600, 40: 1200}, replications=4),  # 30 s
    full=dict(count={20: 1200, 40: 2400}, replications=10),
    plots=[plot("p95", "Beside web sessions", "over", quantity="p95", x="cross", panels=["queue", "delay_ms", "rate"],
                paper_figure="figure 8")],
)

lab.claim("C1", "with the longer queue it is as in the empty network",
          lambda r: r.p95().within(below=2, rtts=1), queue="drd-50-60")
# Of the P95 the test of the runs would tell the microseconds apart that instructions take.
lab.claim("C1m", "nor does the mean differ from that there",
          lambda r: r.mean(cross="none").like(r.mean(cross=SESSIONS)), queue="drd-50-60")
lab.claim("C2", "with the shorter queue ordered delivery is slower",
          lambda r: r.p95("sctp-unordered").faster_than(r.p95("sctp-1")), queue="drd-10-20", cross=SESSIONS)
lab.claim("C3", "the delay rises with the number of sessions",
          lambda r: r.p95().rises_along("cross"), queue="drd-10-20")
lab.claim("C4", "40 calls/s are faster than 20",
          lambda r: r.p95(rate=40) < r.p95(rate=20), queue="drd-10-20", cross=SESSIONS)
