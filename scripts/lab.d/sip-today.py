"""Ours: which transport for SIP today? Loss in both directions, with and without jitter, and where the delay comes from."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "SIP: transports of today",
    source="ours",
    workload="sip", measure="one-way", capture=True, abort_lag_s=0,
    notes=[
        "T1, T2t, E6 and E10 are judged without jitter. With it, at 4 % and 160/s over 60 ms (modern), 238 of 9,600 unordered messages of "
        "one run of five wait for up to 4.8 s behind others; why is not known.",
        "Where delays rise during the run, means and percentiles depend on its length: 9,600 messages, 60 s at 160/s.",
    ],
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

lab.claim("T1", "unordered messages never wait behind others",
          lambda r: r.behind() < 0.1, variant=["udp", "sctp-unordered"], jitter_ms=0)
lab.claim("T2", "TCP is faster than SCTP in order as the kernel has it",
          lambda r: r.p99("tcp") < r.p99("sctp-1"), profile="modern")
lab.claim("T2t", "a least RTO of 40 ms makes TCP faster",
          lambda r: r.p99(profile="tuned-tcp") < r.p99(profile="modern"), variant=["tcp", "tls"], jitter_ms=0,
          loss_percent=[1, 2, 3, 4])
lab.claim("T3", "over UDP one lost message in a hundred costs T1",
          lambda r: r.p99() > 500, variant="udp", loss_percent=[2, 3, 4])
# Of Camarillo et al. 2003, whose own experiments have either one rate of loss or no loss of acknowledgements.
lab.claim("E6", "what head-of-line blocking costs grows with the losses",
          lambda r: r.behind().rises_along("loss_percent"), variant="sctp-1", jitter_ms=0)
lab.claim("E10", "SCTP's window is larger than TCP's after losses of data and acknowledgements",
          lambda r: r.cwnd("tcp") < r.cwnd("sctp-1", "sctp-unordered"), profile="modern", loss_percent=[1, 2, 3, 4],
          jitter_ms=0)
