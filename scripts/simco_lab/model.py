"""The analytical model of response times under loss: equations 1 to 5 of Scharf and Kiesel,
"Head-of-line Blocking in TCP and SCTP: Analysis and Measurements", Globecom 2006.

Times are milliseconds, rates transactions per second, p is the probability that a packet is lost.
`d` is the mean time between messages, N the streams of an association or the TCP connections.
The model knows one loss at a time: recoveries that overlap, lost retransmissions and congestion
control are not in it. `valid` says where that is a fair picture.
"""

import math
from dataclasses import dataclass

DELTA_MS = 0.5  # the paper's processing time in the end systems
RTO_SCTP_MS = 1000.0  # RFC 2960's RTO.Min, which the paper uses
RTO_TCP_EXTRA_MS = 200.0  # Linux: RTT + 200 ms


@dataclass(frozen=True)
class Path:
    """What a prediction is about."""

    rtt_ms: float
    rate: float
    loss: float
    rto_ms: float

    @property
    def d_ms(self):
        return 1000.0 / self.rate


def detection_ms(path, connections=1):
    """Equation 1, and equation 4 for parallel TCP connections: the time D until a lost message is
    there after all, by three later ones or by a time-out."""
    gap = path.d_ms * connections
    return min(path.rtt_ms + 3 * gap, path.rto_ms + max(path.rtt_ms - gap, 0.0))


def waiting_ms(path, streams=1, connections=1):
    """Equation 2: by how much resequencing lengthens the mean one-way delay, W."""
    gap = path.d_ms * streams * connections
    detect = detection_ms(path, connections)
    held = math.floor(detect / gap)
    return path.loss * ((held + 1) * detect - held * (held + 1) / 2 * gap)


def waiting_unordered_ms(path):
    """Equation 3: W where no message waits for another."""
    return path.loss * detection_ms(path)


def response_ms(path, streams=1, connections=1, unordered=False, delta_ms=DELTA_MS):
    """Equation 5: the mean response time R; both directions lose."""
    wait = waiting_unordered_ms(path) if unordered else waiting_ms(path, streams, connections)
    return path.rtt_ms + 2 * wait + delta_ms


def streams_enough(path):
    """M: with so many streams no message waits for one of another stream's loss."""
    return math.ceil(detection_ms(path) / path.d_ms)


def alpha(rto_ms):
    """Rate per connection above which three later messages come before the time-out."""
    return 3000.0 / rto_ms


def mu(rtt_ms):
    """Rate per connection at which the mean response time is least."""
    return 2 * math.sqrt(3) * 1000.0 / rtt_ms


def connections_best(rate, rtt_ms):
    """N_opt: parallel TCP connections with the least mean response time."""
    return rate / mu(rtt_ms)


def valid(path, streams=1, connections=1):
    """Whether the model's assumption holds: seldom another loss while one is recovered from.
    With p (Q + 1) below 0.1 that is fewer than every tenth recovery."""
    gap = path.d_ms * streams * connections
    return path.loss * (math.floor(detection_ms(path, connections) / gap) + 1) < 0.1
