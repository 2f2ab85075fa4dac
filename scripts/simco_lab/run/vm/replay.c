// SPDX-License-Identifier: GPL-2.0
// /proc/replay, see replay.h. Each socket has a thread that reads and one that writes; the plan runs in the client's own
// system call. User-mode Linux has one processor and does not preempt: threads change only where they wait, so that
// nothing here is locked.
#include <linux/completion.h>
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/sctp.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <asm/unaligned.h>
#include <net/sctp/structs.h>
#include <net/sock.h>

#include "replay.h"

// As the programs have it: octets of a read, messages of SCTP and UDP before their answers are sent, and octets in a
// connection's queue beyond which messages wait outside it, and a server does not read.
#define BUFFER 65536
#define READS 256
#define QUEUED 262144
#define WATCH_NS (100 * NSEC_PER_MSEC) // how often programs look whether a message waits too long
#define PARTS ((QUEUED + BUFFER) / 24) // messages in one write to TCP: all that a queue has, of the shortest
#define COPIES 7 // of a message at most (RFC 3261 17.1.1.2)
#define LATER 0x80000000 // in a queue, beside a message's index: what follows its response

static struct plan {
	struct replay_plan *is; // as it was written, in one piece
	size_t size;
	struct replay_message *messages;
	const u8 *octets;
	u32 open; // transactions
	int fault;
	bool stirred; // a message has begun that had to wait
	struct task_struct *runs;
} *plan; // the newest; no thread uses an older one, whose ends have closed their files

struct thread {
	struct task_struct *task;
	struct completion ended;
};

struct line {
	struct list_head list;
	struct file *file; // of the socket
	struct socket *socket;
	bool serves;
	u32 number; // of the connection
	u32 next, have; // TCP: the message that is being read, and its octets so far
	u32 later; // of what follows responses: the client's next of TCP, or the server's next, by its response in the queue
	bool reads_later;
	// Messages to write: from `head` in the queue, from `ready` not written, from `seen` waiting for room in it.
	u32 *queue, capacity, head, ready, seen, tail;
	u32 queued; // octets in the queue
	u32 written; // octets of its first message
	s64 written_at;
	bool blocked; // the transport takes no more
	bool stopping;
	struct sockaddr_in peer; // UDP: the client
	wait_queue_head_t more, idle; // for the writer, and for who waits for it
	struct thread reader, writer;
	u8 *buffer;
};

struct end { // an open file
	struct list_head lines;
	u32 connections;
};

static void fail(int fault)
{
	if (!plan || plan->fault)
		return;
	plan->fault = fault;
	if (plan->runs)
		wake_up_process(plan->runs);
}

static struct replay_message *message(u32 entry) { return &plan->messages[entry & ~LATER]; }

static u32 size_of(u32 entry, bool response)
{
	const struct replay_message *m = message(entry);

	return entry & LATER ? m->later_size : response ? m->response_size : m->request_size;
}

static const u8 *text_of(u32 entry, bool response)
{
	const struct replay_message *m = message(entry);

	return plan->octets + (entry & LATER ? m->later_at : response ? m->response_at : m->request_at);
}

// --- Writing --------------------------------------------------------------------------------------------

// Gives messages to the connection while its queue has room.
static void admit(struct line *line)
{
	while (line->seen < line->tail && line->queued <= QUEUED) {
		u32 entry = line->queue[line->seen++];
		struct replay_message *m = message(entry);

		if (m->lost && !line->serves)
			continue; // while it waited
		if (!line->serves && !m->began_ns) {
			m->began_ns = ktime_get_ns();
			if (m->began_ns != m->tried_ns && plan->runs && !plan->is->drain_ns) {
				plan->stirred = true;
				wake_up_process(plan->runs);
			}
		}
		line->queued += size_of(entry, line->serves);
		line->queue[line->ready++] = entry;
		wake_up(&line->more);
	}
}

static void enqueue(struct line *line, u32 entry)
{
	if (!line->queue) {
		line->capacity = plan->is->repeats ? COPIES : plan->is->later_ns ? 2 : 1;
		line->capacity *= plan->is->count / plan->is->connections + 1;
		line->queue = vmalloc(array_size(line->capacity, sizeof(u32)));
	}
	if (!line->queue || line->tail == line->capacity)
		return fail(-ENOSPC);
	line->queue[line->tail++] = entry;
	admit(line);
}

static void written(struct line *line)
{
	u32 entry = line->queue[line->head++];
	struct replay_message *m = message(entry);

	line->written = 0;
	line->queued -= size_of(entry, line->serves);
	if (!line->serves && !m->sent++)
		m->sent_ns = ktime_get_ns();
	admit(line);
}

static int write_stream(struct line *line)
{
	struct msghdr header = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec *parts = (struct kvec *)line->buffer + BUFFER / sizeof(*parts); // behind what is read
	size_t octets = 0;
	u32 at, skip = line->written;
	int i = 0, done;

	for (at = line->head; at < line->ready && i < PARTS; at++, i++) {
		parts[i].iov_base = (void *)text_of(line->queue[at], line->serves) + skip;
		parts[i].iov_len = size_of(line->queue[at], line->serves) - skip;
		octets += parts[i].iov_len;
		skip = 0;
	}
	done = kernel_sendmsg(line->socket, &header, parts, i, octets);
	if (done < 0)
		return done;
	for (octets = done; octets;) {
		u32 left = size_of(line->queue[line->head], line->serves) - line->written;
		u32 step = min_t(size_t, left, octets);

		octets -= step;
		line->written += step;
		if (step == left)
			written(line);
	}
	return 0;
}

static int write_message(struct line *line)
{
	u32 entry = line->queue[line->head];
	const struct replay_message *m = message(entry);
	u8 control[CMSG_SPACE(sizeof(struct sctp_sndinfo))] = {};
	struct cmsghdr *item = (struct cmsghdr *)control;
	struct sctp_sndinfo *info = CMSG_DATA(item);
	struct msghdr header = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec part = { (void *)text_of(entry, line->serves), size_of(entry, line->serves) };
	bool more = line->head + 1 < line->ready;
	int done;

	if (line->socket->sk->sk_protocol == IPPROTO_SCTP) {
		s64 now = ktime_get_ns(), pause = now - line->written_at;

		item->cmsg_level = IPPROTO_SCTP;
		item->cmsg_type = SCTP_SNDINFO;
		item->cmsg_len = CMSG_LEN(sizeof(*info));
		info->snd_sid = m->stream;
		info->snd_ppid = htonl(plan->is->payload_protocol);
		info->snd_flags = m->unordered ? SCTP_UNORDERED : 0;
		if (plan->is->thin_ns && !more) {
			line->written_at = now;
			if (pause >= plan->is->thin_ns)
				info->snd_flags |= SCTP_SACK_IMMEDIATELY;
		}
		header.msg_control = control;
		header.msg_controllen = sizeof(control);
		if (more)
			header.msg_flags |= MSG_MORE;
	} else if (line->serves) {
		header.msg_name = &line->peer;
		header.msg_namelen = sizeof(line->peer);
	}
	done = kernel_sendmsg(line->socket, &header, &part, 1, part.iov_len);
	if (done < 0 && done != -EAGAIN && line->socket->type == SOCK_DGRAM)
		done = kernel_sendmsg(line->socket, &header, &part, 1, part.iov_len); // it told of an earlier one (ICMP)
	if (done >= 0)
		written(line);
	return min(done, 0);
}

// Waits for an event of the socket, until the time if it is not 0. Asks the socket for it as often as epoll does: that
// alone tells TCP to enlarge its buffer before it is full.
static int wait_for(struct line *line, __poll_t event, s64 until)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	wait_queue_head_t *queue = sk_sleep(line->socket->sk);
	struct hrtimer_sleeper alarm;
	int error = 0;

	hrtimer_init_sleeper_on_stack(&alarm, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	if (until) {
		hrtimer_set_expires(&alarm.timer, ns_to_ktime(until));
		hrtimer_sleeper_start_expires(&alarm, HRTIMER_MODE_ABS);
	}
	add_wait_queue(queue, &wait);
	while (!error) {
		__poll_t found = line->socket->ops->poll(line->file, line->socket, NULL);

		if (found & event || (found & EPOLLERR && (event == EPOLLIN || line->socket->type == SOCK_DGRAM)))
			break; // an error is read
		if (found & (EPOLLERR | EPOLLHUP))
			error = -EPIPE;
		else if (until && (s64)ktime_get_ns() >= until)
			error = -ETIME;
		else
			wait_woken(&wait, TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT); // no time passes since the look at the clock
		if (signal_pending(current))
			error = -EINTR;
	}
	remove_wait_queue(queue, &wait);
	hrtimer_cancel(&alarm.timer);
	destroy_hrtimer_on_stack(&alarm.timer);
	return error;
}

static int wait_writable(struct line *line)
{
	u64 until;

	if (line->serves || !plan->is->lag_ns)
		return wait_for(line, EPOLLOUT, 0);
	until = message(line->queue[line->head])->due_ns + plan->is->lag_ns;
	return wait_for(line, EPOLLOUT, roundup(until, WATCH_NS));
}

static bool is_stream(const struct line *line) { return line->socket->sk->sk_protocol == IPPROTO_TCP; }

static int writer(void *data)
{
	struct line *line = data;
	int error = 0;

	allow_signal(SIGTERM);
	while (!error && !line->stopping && !wait_event_interruptible(line->more, line->head < line->ready)) {
		error = is_stream(line) ? write_stream(line) : write_message(line);
		if (error == -EAGAIN) {
			line->blocked = true;
			wake_up(&line->idle);
			error = wait_writable(line);
			line->blocked = false;
		}
		if (error || line->head == line->ready)
			wake_up(&line->idle);
	}
	line->blocked = true; // for ever
	wake_up(&line->idle);
	if (error && error != -EINTR)
		fail(error);
	kthread_complete_and_exit(&line->writer.ended, 0);
}

// Lets the answers go, as far as the transport takes them; while too many wait, all of them.
static int flush(struct line *line)
{
	int error = wait_event_interruptible(line->idle, line->head == line->ready || line->blocked);

	if (!error && line->queued > QUEUED)
		error = wait_event_interruptible(line->idle, line->head == line->ready || line->stopping);
	return error;
}

// --- Reading --------------------------------------------------------------------------------------------

static void got(struct line *line, u32 index)
{
	struct replay_message *m = message(index);

	if (line->serves) {
		if (!m->arrived++)
			m->arrived_ns = ktime_get_ns();
		if (m->response_size)
			enqueue(line, index);
	} else if (m->answered_ns || m->lost) {
		m->late++;
	} else {
		m->answered_ns = ktime_get_ns();
		if (!--plan->open && plan->runs)
			wake_up_process(plan->runs);
	}
}

// Whether these octets begin what follows a response: another kind of message.
static bool is_later(const struct line *line, const u8 *octets)
{
	return !line->serves && plan->is->later_ns && *octets != *text_of(0, true);
}

// Returns the message that these octets begin, or none.
static int index_of(const struct line *line, const u8 *octets, size_t size)
{
	u32 key = line->serves ? plan->is->request_key : plan->is->response_key, index;
	char digits[9] = {};

	if (size < key + (plan->is->binary_keys ? sizeof(index) : sizeof(digits) - 1))
		return -EPROTO;
	if (plan->is->binary_keys) {
		index = (get_unaligned_be32(octets + key) - plan->is->first_key) * plan->is->connections + line->number;
	} else {
		memcpy(digits, octets + key, sizeof(digits) - 1);
		if (kstrtou32(digits, 16, &index))
			return -EPROTO;
	}
	return index < plan->is->count ? index : -EPROTO;
}

static int read_stream(struct line *line, const u8 *octets, size_t size)
{
	while (size) {
		u32 *at, entry, whole, step;

		if (!line->have)
			line->reads_later = is_later(line, octets);
		at = line->reads_later ? &line->later : &line->next;
		while (*at < plan->is->count && message(*at)->connection != line->number)
			++*at;
		if (*at == plan->is->count)
			return -EPROTO;
		entry = line->reads_later ? *at | LATER : *at;
		whole = size_of(entry, !line->serves);
		step = min_t(size_t, size, whole - line->have);
		if (memcmp(text_of(entry, !line->serves) + line->have, octets, step))
			return -EPROTO;
		octets += step;
		size -= step;
		line->have += step;
		if (line->have < whole)
			break;
		if (!line->reads_later)
			got(line, *at);
		++*at;
		line->have = 0;
	}
	return 0;
}

static int read_message(struct line *line, const u8 *octets, size_t size, const struct sockaddr_in *peer)
{
	int index;

	if (size && is_later(line, octets))
		return 0; // not compared: its key is of its own kind
	index = index_of(line, octets, size);
	if (index < 0)
		return index;
	if (size != size_of(index, !line->serves) || memcmp(text_of(index, !line->serves), octets, size))
		return -EPROTO;
	if (line->serves)
		line->peer = *peer;
	got(line, index);
	return 0;
}

// Before the association is gone with its counts.
static void note_duplicates(const struct line *line)
{
	const struct sctp_association *association =
		list_first_entry_or_null(&sctp_sk(line->socket->sk)->ep->asocs, struct sctp_association, asocs);

	if (line->serves && plan && association)
		plan->is->duplicates = association->stats.idupchunks;
}

// When the server sends what follows its next response; 0: never, or not known yet.
static s64 later_due(struct line *line)
{
	if (!line->serves || !plan || !plan->is->later_ns)
		return 0;
	while (line->later < line->tail && line->queue[line->later] & LATER)
		line->later++;
	if (line->later == line->tail)
		return 0;
	return roundup(message(line->queue[line->later])->arrived_ns + plan->is->later_ns, plan->is->tick_ns);
}

static void send_later(struct line *line)
{
	s64 due;

	while ((due = later_due(line)) && due <= (s64)ktime_get_ns())
		enqueue(line, line->queue[line->later++] | LATER);
}

// Reads what is there, as the programs do before they send the answers. Returns 0 at the end of the connection.
static int read_some(struct line *line)
{
	bool tcp = is_stream(line), datagrams = line->socket->type == SOCK_DGRAM;
	int octets = 0, reads, error = wait_for(line, EPOLLIN, later_due(line));

	if (error == -ETIME) {
		send_later(line);
		return 1;
	}
	for (reads = 0; !error && reads < READS && octets < BUFFER; reads++) {
		struct sockaddr_in peer;
		struct msghdr header = { .msg_name = tcp ? NULL : &peer };
		struct kvec part = { line->buffer + line->have * !tcp, BUFFER - line->have * !tcp };
		int size = kernel_recvmsg(line->socket, &header, &part, 1, part.iov_len, MSG_DONTWAIT);

		if (size == -EAGAIN)
			return 1;
		if (datagrams && size < 0 && !signal_pending(current))
			continue; // it tells of one that was sent (ICMP)
		if (size <= 0)
			return size;
		octets += size;
		if (header.msg_flags & MSG_NOTIFICATION) {
			note_duplicates(line);
			continue;
		}
		if (!plan)
			return -EPROTO; // no message of it
		if (tcp)
			return read_stream(line, line->buffer, size) ?: 1;
		if (!datagrams && !(header.msg_flags & MSG_EOR)) {
			line->have += size; // a part of it
			continue;
		}
		error = read_message(line, line->buffer, line->have + size, &peer);
		line->have = 0;
	}
	return error ?: 1;
}

static int reader(void *data)
{
	struct line *line = data;
	int more;

	allow_signal(SIGTERM);
	do {
		more = line->stopping ? -EINTR : read_some(line);
	} while (more > 0 && (!line->serves || !flush(line)));
	if (!line->serves && !signal_pending(current))
		fail(more ?: -ECONNRESET);
	if (line->serves && more == -EPROTO)
		fail(more);
	if (line->serves && line->socket->type != SOCK_DGRAM)
		kernel_sock_shutdown(line->socket, SHUT_RDWR);
	kthread_complete_and_exit(&line->reader.ended, 0);
}

// --- Lines ----------------------------------------------------------------------------------------------

static int begin(struct thread *thread, int (*what)(void *), struct line *line, const char *name)
{
	init_completion(&thread->ended);
	thread->task = kthread_create(what, line, "replay-%s", name);
	if (IS_ERR(thread->task))
		return PTR_ERR(thread->task);
	get_task_struct(thread->task);
	wake_up_process(thread->task);
	return 0;
}

static void stop(struct thread *thread)
{
	if (IS_ERR_OR_NULL(thread->task))
		return;
	send_sig(SIGTERM, thread->task, 1);
	wait_for_completion(&thread->ended);
	put_task_struct(thread->task);
}

static void remove(struct line *line)
{
	line->stopping = true;
	wake_up(&line->idle);
	stop(&line->reader);
	stop(&line->writer);
	if (line->file)
		fput(line->file);
	list_del(&line->list);
	vfree(line->queue);
	kvfree(line->buffer);
	kfree(line);
}

static int add(struct end *end, int fd, bool serves)
{
	struct line *line = kzalloc(sizeof(*line), GFP_KERNEL);
	int error;

	if (!line)
		return -ENOMEM;
	INIT_LIST_HEAD(&line->list);
	list_add_tail(&line->list, &end->lines);
	init_waitqueue_head(&line->more);
	init_waitqueue_head(&line->idle);
	line->serves = serves;
	line->number = end->connections++;
	line->buffer = kvmalloc(BUFFER + PARTS * sizeof(struct kvec), GFP_KERNEL);
	line->file = fget(fd);
	line->socket = line->file ? sock_from_file(line->file) : NULL;
	error = !line->buffer ? -ENOMEM : !line->socket ? -ENOTSOCK : begin(&line->writer, writer, line, "writer");
	error = error ?: begin(&line->reader, reader, line, "reader");
	if (error)
		remove(line);
	return error;
}

// --- The plan -------------------------------------------------------------------------------------------

static struct line *line_of(struct end *end, const struct replay_message *m)
{
	struct line *line;

	list_for_each_entry(line, &end->lines, list)
		if (line->number == m->connection)
			return line;
	return NULL;
}

// When copy number `copy` of a message is due, counted from 0.
static s64 due(const struct replay_message *m, int copy)
{
	return copy ? m->began_ns + ((1LL << copy) - 1) * plan->is->t1_ns : m->due_ns;
}

// When a transaction ends without a response: by timer B, which has not started while the message waits.
static s64 end_of(const struct replay_message *m)
{
	s64 latest = m->due_ns + plan->is->timeout_ns;

	return m->began_ns ? min(latest, m->began_ns + plan->is->timer_b_ns) : latest;
}

static bool over(const struct replay_message *m) { return m->answered_ns || m->lost; }

// Sleeps until then, until all transactions have ended, or until a time may have changed. Returns false if the plan has
// ended.
static bool sleep_until(s64 when)
{
	ktime_t time = ns_to_ktime(when);

	while (!plan->fault && plan->open && !plan->stirred && ktime_get_ns() < when) {
		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout_range(&time, 0, HRTIMER_MODE_ABS);
		if (signal_pending(current))
			plan->fault = -EINTR;
	}
	return !plan->fault && plan->open;
}

// Takes messages by their due times and, if the transport loses them, copies by timer A; each copy of a message is due
// after the same copy of the one before it. Transactions end by timer B at the latest.
static int run(struct end *end)
{
	u32 next[COPIES + 1] = {}; // of each copy, and of timer B
	int copies = plan->is->repeats ? COPIES : 1, i;

	plan->runs = current;
	for (;;) {
		s64 when = S64_MAX;
		int which = -1;

		for (i = 0; i <= COPIES; i++) {
			bool timer = i == COPIES;
			s64 time;

			if (timer ? plan->is->drain_ns : i >= copies)
				continue;
			while (i && next[i] < next[0] && over(message(next[i])))
				next[i]++;
			if (next[i] >= (i ? next[0] : plan->is->count) || (i && !timer && !message(next[i])->began_ns))
				continue;
			time = timer ? end_of(message(next[i])) : due(message(next[i]), i);
			if (time < when) {
				when = time;
				which = i;
			}
		}
		if (which < 0 || !sleep_until(when))
			break;
		if (plan->stirred) {
			plan->stirred = false;
			continue;
		}
		if (which && over(message(next[which])))
			continue; // meanwhile
		if (which == COPIES) {
			message(next[which]++)->lost = 1;
			plan->open--;
		} else {
			struct replay_message *m = message(next[which]);
			struct line *line = line_of(end, m);

			if (!line) {
				plan->fault = -ENOTCONN;
				break;
			}
			if (!which)
				m->tried_ns = ktime_get_ns();
			enqueue(line, next[which]++);
		}
	}
	if (plan->is->drain_ns && !plan->fault)
		sleep_until(message(plan->is->count - 1)->due_ns + plan->is->drain_ns);
	plan->runs = NULL;
	return plan->fault;
}

static void forget(struct plan *old)
{
	if (old)
		vfree(old->is);
	kfree(old);
}

static bool sound(const struct plan *one)
{
	size_t rest = one->size - sizeof(*one->is);
	u32 i;

	if (!one->is->count || !one->is->connections ||
	    rest != size_add(array_size(one->is->count, sizeof(*one->messages)), one->is->octets))
		return false;
	for (i = 0; i < one->is->count; i++) {
		const struct replay_message *m = &one->messages[i];

		if (!m->request_size || m->request_size > BUFFER || (u64)m->request_at + m->request_size > one->is->octets ||
		    (u64)m->response_at + m->response_size > one->is->octets ||
		    (u64)m->later_at + m->later_size > one->is->octets || m->connection >= one->is->connections)
			return false;
	}
	return true;
}

static ssize_t replay_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct plan *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL);
	ssize_t error = 0;

	if (!fresh)
		return -ENOMEM;
	fresh->size = size;
	fresh->is = vmalloc(size);
	if (!fresh->is)
		error = -ENOMEM;
	else if (copy_from_user(fresh->is, from, size))
		error = -EFAULT;
	if (!error) {
		fresh->messages = (struct replay_message *)(fresh->is + 1);
		fresh->octets = (const u8 *)(fresh->messages + fresh->is->count);
		fresh->open = fresh->is->count;
		if (size < sizeof(*fresh->is) || !sound(fresh))
			error = -EINVAL;
	}
	if (error) {
		forget(fresh);
		return error;
	}
	forget(plan);
	plan = fresh;
	return size;
}

static ssize_t replay_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	return plan ? simple_read_from_buffer(to, size, at, plan->is, plan->size) : 0;
}

static long replay_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct end *end = file->private_data;

	switch (command) {
	case REPLAY_SERVE:
		return add(end, argument, true);
	case REPLAY_CONNECTION:
		return add(end, argument, false);
	case REPLAY_RUN:
		return plan ? run(end) : -EINVAL;
	}
	return -ENOTTY;
}

static int replay_open(struct inode *inode, struct file *file)
{
	struct end *end = kzalloc(sizeof(*end), GFP_KERNEL);

	if (!end)
		return -ENOMEM;
	INIT_LIST_HEAD(&end->lines);
	file->private_data = end;
	return 0;
}

static int replay_release(struct inode *inode, struct file *file)
{
	struct end *end = file->private_data;
	struct line *line, *next;

	list_for_each_entry_safe(line, next, &end->lines, list)
		remove(line);
	kfree(end);
	return 0;
}

static const struct proc_ops operations = {
	.proc_open = replay_open,
	.proc_read = replay_read,
	.proc_write = replay_write,
	.proc_ioctl = replay_ioctl,
	.proc_release = replay_release,
};

static int __init replay_init(void)
{
	BUILD_BUG_ON(IS_ENABLED(CONFIG_SMP) || IS_ENABLED(CONFIG_PREEMPTION));
	return proc_create("replay", 0600, NULL, &operations) ? 0 : -ENOMEM;
}
device_initcall(replay_init);
