"""Ours: which transport for SIP today? Loss in both directions, with and without jitter, and where the delay comes from."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "SIP: transports of today",
    source="ours",
    workload="sip", measure="one-way", capture=True,
    matrix=[
        dict(profile=["modern", "tuned"], variant=["udp", "tcp", "tcp@bbr", "tls", "sctp-1", "sctp-16", "sctp-unordered"],
             delay_ms=[20, 60], jitter_ms=[0, 2], loss_percent=[0, 1, 2, 3, 4], rate=[40, 160]),
        dict(profile=["tuned-tcp"], variant=["tcp", "tls"], delay_ms=[20, 60], jitter_ms=[0, 2], loss_percent=[0, 1, 2, 3, 4],
             rate=[40, 160]),
    ],
    quick=dict(count=1200, replications=3, delay_ms=[20], jitter_ms=[0], loss_percent=[1, 3], rate=[40]),
    full=dict(count=9600, replications=5),
    plots=[
        plot("p95", "95 % of the messages", "over", quantity="p95", x="loss_percent", panels=["delay_ms", "jitter_ms", "rate"]),
        plot("parts", "Where the delay comes from, 3 % loss, 40/s", "parts",
             where=dict(loss_percent=3, rate=40, jitter_ms=0, delay_ms=20)),
    ],
)


@lab.claim("unordered messages never wait behind others", variant=["udp", "sctp-unordered"], jitter_ms=0)
def T1(r):
    return r.behind() < 0.1


@lab.claim("TCP is faster than SCTP in order as the kernel has it", profile="modern")
def T2(r):
    return r.p99("tcp") < r.p99("sctp-1")


@lab.claim("a least RTO of 40 ms makes TCP faster", variant=["tcp", "tls"], jitter_ms=0, loss_percent=[1, 2, 3, 4])
def T2t(r):
    return r.p99(profile="tuned-tcp") < r.p99(profile="modern")


@lab.claim("over UDP one lost message in a hundred costs T1", variant="udp", loss_percent=[2, 3, 4])
def T3(r):
    return r.p99() > 500


# Of Camarillo et al. 2003, whose own experiments have either one rate of loss or no loss of acknowledgements.
@lab.claim("what head-of-line blocking costs grows with the losses", variant="sctp-1", jitter_ms=0)
def E6(r):
    return r.behind().rises_along("loss_percent")


@lab.claim("SCTP's window is larger than TCP's after losses of data and acknowledgements", profile="modern",
           loss_percent=[1, 2, 3, 4], jitter_ms=0)
def E10(r):
    return r.cwnd("tcp") < r.cwnd("sctp-1", "sctp-unordered")
