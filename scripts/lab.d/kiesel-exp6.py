"""Experiment 6 of IKR report 53: load with 2 % loss. A curve ends when messages cannot be handed to
the transport within a second of their time."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "SIMCO over load, 10 ms one way, 2 % loss",
    source="IKR report 53, section 5, figures 37 to 40",
    workload="per",
    matrix=dict(profile=["modern", "2006", "tuned"],
                variant=["tcp", "sctp-1", "sctp-2", "sctp-4", "sctp-16", "sctp-1024", "quic-1", "quic-16"], delay_ms=[10],
                loss_percent=[2], rate=[10, 30, 100, 300, 1000, 2000, 3000, 5000]),
    quick=dict(count={0.1: 100, 10: 1000, 100: 2000, 1000: 5000}, profile=["modern", "tuned"],
               variant=["tcp", "sctp-1", "sctp-16", "quic-16"], rate=[10, 100, 1000]),
    full=dict(count={10: 4000, 100: 40000}),
    plots=[
        plot("mean-over-load", "Experiment 6: delay over load, 2 % loss", "mean", x="rate", log_x=True, model=True,
             where=dict(profile=["2006", "tuned"])),
        plot("ccdf-10", "Experiment 6: CCDF at 10/s", "ccdf", where=dict(profile=["2006", "tuned"], rate=10)),
        plot("ccdf-100", "Experiment 6: CCDF at 100/s", "ccdf", where=dict(profile=["2006", "tuned"], rate=100)),
        plot("ccdf-1000", "Experiment 6: CCDF at 1000/s", "ccdf", where=dict(profile=["2006", "tuned"], rate=1000)),
    ],
)


@lab.claim("SCTP with 16 streams has a lower mean than TCP from 100/s", rate=[100, 300, 1000, 2000, 3000, 5000])
def E2(r):
    return r.mean("sctp-16") < r.mean("tcp")


@lab.claim("more streams are never worse", rate=[10, 30, 100, 300, 1000])
def E3(r):
    return r.mean().never_worse_with_more_streams()


@lab.claim("tuned, SCTP with 16 streams has a lower mean than TCP from 10/s to 1000/s", profile="tuned",
           rate=[10, 30, 100, 300, 1000])
def W1(r):
    return r.mean("sctp-16") < r.mean("tcp")


@lab.claim("tuned, SCTP with 16 streams has a lower 95th percentile than TCP from 10/s to 1000/s", profile="tuned",
           rate=[10, 30, 100, 300, 1000])
def W2(r):
    return r.p95("sctp-16") < r.p95("tcp")


@lab.claim("tuned, SCTP with 16 streams has a 99.9th percentile no worse than TCP's from 10/s to 1000/s", profile="tuned",
           rate=[10, 30, 100, 300, 1000])
def W3(r):
    return r.p999("sctp-16") <= r.p999("tcp")


@lab.claim("QUIC with 16 streams has a lower mean than TCP and SCTP with 16 streams", profile="tuned")
def Q1(r):
    return r.mean("quic-16") < r.mean("tcp", "sctp-16")


@lab.claim("QUIC with 16 streams has a lower 99th percentile than TCP and SCTP with 16 streams", profile="tuned")
def Q2(r):
    return r.p99("quic-16") < r.p99("tcp", "sctp-16")


@lab.claim("QUIC with 16 streams has a lower 99.9th percentile than TCP and SCTP with 16 streams", profile="tuned")
def Q3(r):
    return r.p999("quic-16") < r.p999("tcp", "sctp-16")
