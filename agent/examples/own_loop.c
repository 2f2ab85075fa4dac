/* Lists the rules that this agent may see, with a connection and an event loop of its own: level one
 * of simco/agent.h, which does no I/O and reads no clock.
 *
 *     cc own_loop.c $(pkg-config --cflags --libs simco-agent) -o own_loop
 *     ./own_loop 127.0.0.1 7626
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <simco/agent.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct program {
  simco_agent *agent;
  int over, failed;
};

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_list(void *user, int error, const simco_reply *reply) {
  struct program *program = user;
  size_t i;
  if (error) {
    fprintf(stderr, "own_loop: %s\n", simco_strerror(error));
    program->failed = 1;
  } else {
    printf("%zu rules\n", reply->pid_count);
    for (i = 0; i < reply->pid_count; ++i) printf("%u\n", reply->pids[i]);
  }
  simco_agent_close(program->agent, now_ms());
}

static void on_open(void *user, const simco_capabilities *capabilities) {
  struct program *program = user;
  simco_request request;
  (void)capabilities;
  memset(&request, 0, sizeof request);
  request.type = SIMCO_LIST;
  if (simco_agent_submit(program->agent, &request, now_ms(), on_list, program) != SIMCO_OK) {
    program->over = program->failed = 1;
  }
}

static void on_end(void *user, int error) {
  struct program *program = user;
  program->over = 1;
  if (error == SIMCO_ERR_TERMINATED) return;
  fprintf(stderr, "own_loop: %s\n", simco_strerror(error));
  program->failed = 1;
}

static int connect_to(const char *host, const char *port) {
  struct addrinfo hints, *found, *address;
  int descriptor = -1;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host, port, &hints, &found) != 0) return -1;
  for (address = found; address != NULL && descriptor < 0; address = address->ai_next) {
    descriptor = socket(address->ai_family, address->ai_socktype, address->ai_protocol);
    if (descriptor >= 0 && connect(descriptor, address->ai_addr, address->ai_addrlen) != 0) {
      close(descriptor);
      descriptor = -1;
    }
  }
  freeaddrinfo(found);
  return descriptor;
}

/* One turn: hands over what the agent has to say, waits, and hands it what has arrived. */
static void turn(struct program *program, int descriptor) {
  struct pollfd wait;
  const void *octets;
  char buffer[4096];
  ssize_t count;
  int64_t deadline = simco_agent_next_deadline(program->agent), now = now_ms();
  wait.fd = descriptor;
  wait.events = POLLIN;
  wait.revents = 0; /* also if a signal interrupts poll() */
  if (simco_agent_output(program->agent, &octets) != 0) wait.events |= POLLOUT;
  poll(&wait, 1, deadline < 0 ? -1 : deadline <= now ? 0 : (int)(deadline - now));
  if (wait.revents & POLLOUT) {
    /* A connection that the middlebox has closed must not end the program (SIGPIPE). */
    count = send(descriptor, octets, simco_agent_output(program->agent, &octets), MSG_NOSIGNAL);
    if (count > 0) simco_agent_consume(program->agent, (size_t)count);
    if (count < 0 && errno != EINTR) simco_agent_connection_lost(program->agent);
  }
  if (wait.revents & (POLLIN | POLLHUP | POLLERR)) {
    count = read(descriptor, buffer, sizeof buffer);
    if (count > 0) simco_agent_feed(program->agent, buffer, (size_t)count);
    if (count == 0 || (count < 0 && errno != EINTR)) simco_agent_connection_lost(program->agent);
  }
  simco_agent_on_deadline(program->agent, now_ms());
}

int main(int argc, char **argv) {
  const simco_callbacks callbacks = {on_open, NULL, on_end};
  struct program program = {NULL, 0, 0};
  int descriptor;
  if (argc != 3) {
    fprintf(stderr, "usage: own_loop HOST PORT\n");
    return 2;
  }
  descriptor = connect_to(argv[1], argv[2]);
  if (descriptor < 0) {
    fprintf(stderr, "own_loop: cannot connect to %s port %s\n", argv[1], argv[2]);
    return 1;
  }
  program.agent = simco_agent_new(NULL, &callbacks, &program, now_ms());
  if (program.agent == NULL) return 1;
  while (!program.over) turn(&program, descriptor);
  simco_agent_free(program.agent);
  close(descriptor);
  return program.failed;
}
