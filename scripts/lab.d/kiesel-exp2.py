"""Experiment 2 of Kiesel, Scharf, Beutel and Ruschival, "Performance Measurements of SIMCO over TCP
and SCTP", IKR internal report 53, 2006. The report gives the range of losses and the special
values 0, 2.5 and 5 % in its text; the other points of the figures are ours."""

from simco_lab.scenario import Scenario, paper, plot

lab = Scenario(
    "SIMCO over loss, 20 ms one way, 100/s",
    source="IKR report 53, section 4.2, figures 12 to 19",
    workload="per", warmup=100,
    matrix=dict(profile=["modern", "2006", "tuned"],
                variant=["tcp", "sctp-1", "sctp-2", "sctp-4", "sctp-8", "sctp-16", "sctp-1024", "quic-1", "quic-16"],
                delay_ms=[20], loss_percent=[0, 0.1, 0.2, 0.5, 1, 2, 2.5, 5, 7, 10], rate=[100]),
    quick=dict(count=2000, profile=["modern", "tuned"], variant=["tcp", "sctp-1", "sctp-4", "sctp-16", "quic-16"],
               loss_percent=[0, 1, 2.5, 5]),
    full=dict(count=40000),
    plots=[
        plot("mean-over-loss", "Experiment 2: delay over loss", "mean", x="loss_percent", log_x=True, model=True,
             paper_figure="figure 12", where=dict(profile=["2006", "tuned"])),
        plot("mean-over-streams", "Experiment 2: delay over streams", "mean", x="streams", curves="loss_percent", log_x=True,
             model=True,
             where=dict(profile=["2006", "tuned"], variant=["sctp-1", "sctp-2", "sctp-4", "sctp-8", "sctp-16", "sctp-1024"])),
        plot("ccdf-1", "Experiment 2: CCDF at 1 % loss", "ccdf", where=dict(profile=["2006", "tuned"], loss_percent=1)),
        plot("ccdf-5", "Experiment 2: CCDF at 5 % loss", "ccdf", where=dict(profile=["2006", "tuned"], loss_percent=5)),
    ],
    papers=[
        paper("mean without loss (axis of figure 12)", 40, variant="tcp", loss_percent=0),
    ],
)


@lab.claim("without loss all variants have the same mean", loss_percent=0)
def E1(r):
    return r.mean().equal(within_ms=0.2)


@lab.claim("a single SCTP stream has a lower mean than TCP under loss", loss_percent=[0.5, 1, 2, 2.5, 5, 7, 10])
def E2(r):
    return r.mean("sctp-1") < r.mean("tcp")


@lab.claim("SCTP with 16 streams has a lower mean than TCP under loss", loss_percent=[0.5, 1, 2, 2.5, 5, 7, 10])
def E2b(r):
    return r.mean("sctp-16") < r.mean("tcp")


@lab.claim("more streams are never worse")
def E3(r):
    return r.mean().never_worse_with_more_streams()


@lab.claim("SCTP's mean is within 5 % of equation 5 up to 1 % loss",
           variant=["sctp-1", "sctp-2", "sctp-4", "sctp-8", "sctp-16", "sctp-1024"], loss_percent=[0.1, 0.2, 0.5, 1])
def E4(r):
    return r.mean().near_model(percent=5)


@lab.claim("TCP's 99th percentile is more than twice that of SCTP with 16 streams at 1 %", loss_percent=1)
def E5(r):
    return r.p99("sctp-16") < 0.5 * r.p99("tcp")


@lab.claim("tuned, SCTP with 16 streams has a lower 95th percentile than TCP", profile="tuned", loss_percent=[0.5, 1, 2, 2.5, 5])
def W1(r):
    return r.p95("sctp-16") < r.p95("tcp")


@lab.claim("tuned, SCTP with 16 streams has a 99.9th percentile no worse than TCP's", profile="tuned",
           loss_percent=[0.5, 1, 2, 2.5, 5])
def W2(r):
    return r.p999("sctp-16") <= r.p999("tcp")


@lab.claim("tuned, SCTP with 16 streams is at most 5 % above equation 5 up to 2.5 %", profile="tuned",
           variant=["sctp-16", "sctp-1024"], loss_percent=[0.1, 0.2, 0.5, 1, 2, 2.5])
def W3(r):
    return r.mean().at_most_above_model(percent=5)


@lab.claim("QUIC with 16 streams has a lower mean than TCP and SCTP with 16 streams", profile="tuned",
           loss_percent=[0.1, 0.2, 0.5, 1, 2, 2.5, 5])
def Q1(r):
    return r.mean("quic-16") < r.mean("tcp", "sctp-16")


@lab.claim("QUIC with 16 streams has a lower 99th percentile than TCP and SCTP with 16 streams", profile="tuned",
           loss_percent=[0.1, 0.2, 0.5, 1, 2, 2.5, 5])
def Q2(r):
    return r.p99("quic-16") < r.p99("tcp", "sctp-16")


@lab.claim("QUIC with 16 streams has a lower 99.9th percentile than TCP and SCTP with 16 streams", profile="tuned",
           loss_percent=[0.1, 0.2, 0.5, 1, 2, 2.5, 5])
def Q3(r):
    return r.p999("quic-16") < r.p999("tcp", "sctp-16")
