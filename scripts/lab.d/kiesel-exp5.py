"""Experiment 5 of IKR report 53: load with 1 % loss. A curve ends when messages cannot be handed to
the transport within a second of their time."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "SIMCO over load, 10 ms one way, 1 % loss",
    source="IKR report 53, section 5, figures 32 to 36",
    workload="per",
    matrix=dict(profile=["modern", "2006", "tuned"],
                variant=["tcp", "sctp-1", "sctp-2", "sctp-4", "sctp-16", "sctp-1024", "quic-16"], delay_ms=[10],
                loss_percent=[1], rate=[0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 2000, 3000, 5000]),
    quick=dict(count={0.1: 100, 10: 1000, 100: 2000, 1000: 5000}, profile=["modern", "tuned"],
               variant=["tcp", "sctp-1", "sctp-16", "quic-16"], rate=[1, 10, 100, 1000]),
    full=dict(count={0.1: 1000, 1: 10000, 10: 100000, 100: 100000}),
    plots=[
        plot("mean-over-load", "Experiment 5: delay over load, 1 % loss", "mean", x="rate", log_x=True, model=True,
             where=dict(profile=["2006", "tuned"], variant=["tcp", "sctp-1", "sctp-2", "sctp-4", "sctp-16", "sctp-1024", "quic-16"])),
        plot("ccdf", "Experiment 5: CCDF", "ccdf", panels=["rate"],
             where=dict(profile=["2006", "tuned"], rate=[1, 10, 100, 1000])),
    ],
)

lab.claim("E2", "SCTP with 16 streams has a lower mean than TCP from 100/s",
          lambda r: r.mean("sctp-16") < r.mean("tcp"), rate=[100, 300, 1000, 2000, 3000, 5000])
lab.claim("E8", "at low rates TCP has a lower mean than SCTP with one stream",
          lambda r: r.mean("tcp") < r.mean("sctp-1"), rate=[0.1, 0.3, 1])
lab.claim("E3", "more streams are never worse",
          lambda r: r.mean().never_rises_along("streams"), rate=[10, 30, 100, 300, 1000])
lab.claim("W1", "tuned, SCTP with 16 streams has a lower mean than TCP from 10/s to 1000/s",
          lambda r: r.mean("sctp-16") < r.mean("tcp"), profile="tuned", rate=[10, 30, 100, 300, 1000])
lab.claim("W2", "tuned, SCTP with 16 streams has a lower 95th percentile than TCP from 10/s to 1000/s",
          lambda r: r.p95("sctp-16") < r.p95("tcp"), profile="tuned", rate=[10, 30, 100, 300, 1000])
lab.claim("W3", "tuned, SCTP with 16 streams has a 99.9th percentile no worse than TCP's from 10/s to 1000/s",
          lambda r: r.p999("sctp-16") <= r.p999("tcp"), profile="tuned", rate=[10, 30, 100, 300, 1000])
lab.claim("Q1", "QUIC with 16 streams has a lower mean than TCP and SCTP with 16 streams",
          lambda r: r.mean("quic-16") < r.mean("tcp", "sctp-16"), profile="tuned")
lab.claim("Q2", "QUIC with 16 streams has a lower 99th percentile than TCP and SCTP with 16 streams",
          lambda r: r.p99("quic-16") < r.p99("tcp", "sctp-16"), profile="tuned")
lab.claim("Q3", "QUIC with 16 streams has a lower 99.9th percentile than TCP and SCTP with 16 streams",
          lambda r: r.p999("quic-16") < r.p999("tcp", "sctp-16"), profile="tuned")
