"""Experiments 1 to 3 of IKR report 53 with a second SCTP stack. The report has one of Solaris 10; here it is usrsctp, the
userland stack that comes from FreeBSD's."""

from simco_lab.scenario import Scenario, plot

STREAMS = ["usrsctp-1", "usrsctp-16"]

lab = Scenario(
    "SIMCO over loss, with usrsctp, 100/s",
    source="IKR report 53, sections 4.2 to 4.4, figures 5, 13 and 21",
    notes=[
        "The report measured a second stack, that of Solaris 10, and aborted its SCTP at higher losses because associations stalled. "
        "usrsctp is another stack of another origin: no number here is one of Solaris.",
        "usrsctp is within UDP (port 9899, RFC 6951), 8 octets more for each packet. Its timers tick each 10 ms.",
    ],
    workload="per", warmup=100, abort_lag_s=0,
    matrix=dict(profile=["modern", "tuned"], variant=[*STREAMS, "sctp-1", "sctp-16", "tcp"], delay_ms=[10, 20, 40],
                loss_percent=[0, 0.5, 1, 2.5, 5, 7], rate=[100]),
    quick=dict(count=2000, delay_ms=[10], loss_percent=[0, 1, 5]),
    full=dict(count=20000),
    plots=[plot("mean-over-loss", "A second stack: delay over loss", "mean", x="loss_percent", log_x=True, panels=["delay_ms"],
                paper_figure="figures 5, 13 and 21")],
)

lab.claim("S1", "16 streams have a lower mean than one under loss",
          lambda r: r.mean("usrsctp-16") < r.mean("usrsctp-1"), loss_percent=[0.5, 1, 2.5, 5, 7])
lab.claim("S2", "16 streams have a lower mean than TCP under loss",
          lambda r: r.mean("usrsctp-16") < r.mean("tcp"), loss_percent=[0.5, 1, 2.5, 5, 7])
lab.claim("S3", "no association stalls: each request has a reply within 10 s",
          lambda r: r.max().within(below=10_000, runs="every"), variant=STREAMS)
lab.claim("S4", "with 16 streams, the kernel's stack has a lower 99th percentile",
          lambda r: r.p99("sctp-16") < r.p99("usrsctp-16"), loss_percent=[0.5, 1, 2.5, 5, 7])
