"""Camarillo, Schulzrinne, Kantola 2003, 5.2.1: does the window of a slow application grow without bound, so that a sudden burst
then loses massively? 10/s for about 30 s, then 300 INVITEs at once; and the same without the burst, for the window that it meets."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "SIP: a sudden burst after a quiet time",
    source="Evaluation of transport protocols for SIP, 2003, section 5.2.1",
    notes=[
        "The paper gives no experiment for this statement; the rates and the size of the burst are ours.",
        "The window that the burst meets is that at the end of a run with the same messages that stops before it. If it grew "
        "with each acknowledgement, as the paper says, it would have room for the 300 messages.",
    ],
    workload="sip", measure="one-way", response="none", invite_size=512, drain_s=20, tables=["cwnd"], abort_lag_s=0, burst=300,
    matrix=dict(profile=["modern", "ns2"], variant=["tcp", "tcp@reno", "sctp-1", "sctp-unordered"], delay_ms=[45],
                link_mbit=[2], queue=["pfifo-50"], rate=[10], stop=["end", "burst"]),
    quick=dict(count=600),
    full=dict(count=600, replications=5),
    plots=[plot("delay", "300 INVITEs at once", "trace", where=dict(stop="end"), first=280)],
)

lab.claim("E8w", "before the burst the window has room for all of it",
          lambda r: r.cwnd() > 153600, stop="burst")  # 300 messages
lab.claim("E8", "the burst, which is half of the messages, loses massively",
          lambda r: r.lost_share() > 5, stop="end")
lab.claim("E8d", "all arrive", lambda r: r.unanswered() < 0.5, stop="end")
