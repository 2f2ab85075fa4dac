/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Apache-2.0 */
/*
 * /proc/replay of the laboratory's user-mode Linux: the messages of a point, which the kernel sends, answers and
 * times over sockets that programs have opened. A system call costs 40 us of the host's processor there, and a
 * message takes seven; inside the kernel it takes none.
 *
 * The client writes a plan in one piece: a replay_plan, its messages, the octets that they refer to. Both ends name
 * their sockets by ioctl; the client then runs the plan, and both read it again, with what has happened.
 */
#ifndef SIMCO_REPLAY_H
#define SIMCO_REPLAY_H

#include <linux/ioctl.h>
#include <linux/types.h>

struct replay_message {
	/* Written by the client. Times are of CLOCK_MONOTONIC. */
	__s64 due_ns;
	__u32 request_at, request_size; /* in the octets of the plan */
	__u32 response_at, response_size; /* no octets: it has none */
	__u32 later_at, later_size; /* the message that follows the response on its stream, without an answer */
	__u16 connection; /* in the order of REPLAY_CONNECTION, and of REPLAY_SERVE */
	__u16 stream; /* SCTP: of both */
	__u32 unordered; /* SCTP: both */
	__u32 number; /* for the programs: what its octets follow from */
	__u32 unused;
	/* Written by the kernel; 0: that has not happened. */
	__s64 tried_ns; /* it was offered */
	__s64 began_ns; /* it was given to the connection, whose queue had room: timers A and B start */
	__s64 sent_ns; /* the transport has accepted the last octet of the first copy */
	__s64 arrived_ns; /* the server has read the first copy */
	__s64 answered_ns; /* the client has read the response */
	__u32 sent; /* copies */
	__u32 arrived; /* copies */
	__u32 late; /* responses after the end of the transaction */
	__u32 lost; /* the transaction has ended without a response */
};

struct replay_plan {
	__u32 count; /* messages, in the order of their due times */
	__u32 connections;
	__u32 octets;
	__u32 request_key, response_key; /* where messages have their index, as eight hexadecimal digits, or */
	__u32 binary_keys; /* as four octets: their place on their connection, */
	__u32 first_key; /* from this on */
	__u32 repeats; /* the transport loses messages: copies after 1, 3, 7, ... T1 until the response */
	__u32 thin_ns; /* SCTP: a message has the I bit so long after the last one; 0: none has */
	__u32 run; /* for the programs: of the messages' calls */
	__u32 duplicates; /* written by the kernel: chunks of SCTP that the server got again */
	__u32 payload_protocol; /* SCTP */
	__s64 t1_ns;
	__s64 timer_b_ns; /* of a transaction with a response */
	__s64 timeout_ns; /* the same, from when it was due */
	__s64 drain_ns; /* without responses: the plan ends so long after the last message was due */
	__s64 later_ns; /* from a request to what follows its response; 0: nothing does */
	__s64 tick_ns; /* that is sent when the clock is a multiple of this */
	__s64 lag_ns; /* a message that waits so long for the transport ends the plan; 0: it may wait */
};

#define REPLAY_SERVE _IO('R', 1) /* argument: a socket whose messages are noted and answered */
#define REPLAY_CONNECTION _IO('R', 2) /* argument: the socket of the plan's next connection */
#define REPLAY_RUN _IO('R', 3) /* until the plan has ended; ETIME: by lag_ns, ECONNRESET: a connection was lost */

#endif
