"""Your own question: what does a lost packet cost, over TCP and over SCTP with 16 streams? Change a line, and run this file
again: points that have results are not run twice. doc/lab.md has all that can stand here."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "TCP and SCTP over loss",                # the report's title
    source="ours",                           # a paper and its section, if you repeat one
    workload="echo",                         # requests without rules; "per": each makes a pinhole
    warmup=100,                              # transactions ahead that do not count
    matrix=dict(                             # each combination of these values is a point
        profile=["tuned"],                   # settings of the kernel; "modern": as Debian has them
        variant=["tcp", "sctp-16"],          # the transports, a curve each; also "tcp-4", "quic-16", ...
        delay_ms=[20],                       # from one end to the other
        loss_percent=[0, 1, 2],              # of packets, each way: the axis of the figure
        rate=[100],                          # transactions per second
    ),
    quick=dict(count=2000),                  # transactions of a point, in a run without --full
    full=dict(count=20000, replications=3),  # with --full: more of them, and each point with three seeds
    plots=[
        plot("p95-over-loss",                # the figure's file: plots/p95-over-loss-tuned.svg, .png and .pdf
             "What lost packets cost",        # its title
             "over",                         # its kind: a quantity over an axis; also "ccdf", "trace", ...
             quantity="p95",                 # also "mean", "p99", "max", ...
             x="loss_percent"),              # a dimension of the matrix with several values
    ],
)

lab.claim("A",                               # its name in the report
          "SCTP's 95th percentile is lower",   # its words
          lambda r: r.p95("sctp-16") < r.p95("tcp"),  # compared at each point that is alike but for the variant
          loss_percent=[1, 2])               # where it is judged; elsewhere it claims nothing
