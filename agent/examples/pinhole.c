/* Opens a pinhole for the RTP and RTCP of a call, prints where media may be sent, and closes it.
 *
 *     cc pinhole.c $(pkg-config --cflags --libs simco-agent) -o pinhole
 *     ./pinhole 127.0.0.1:7626 10.0.0.5:5004/2 192.0.2.7:6000/2
 */
#include <poll.h>
#include <simco/agent.h>
#include <stdio.h>
#include <string.h>

struct call {
  simco_client *client;
  const char *internal, *external;
  uint32_t pid;
  int done, failed;
};

static void fail(struct call *call, const char *what, int error) {
  fprintf(stderr, "pinhole: %s: %s\n", what, simco_strerror(error));
  call->done = call->failed = 1;
}

static void on_removed(void *user, int error, const simco_reply *reply) {
  struct call *call = user;
  (void)reply;
  if (error) {
    fail(call, "the pinhole stays", error);
    return;
  }
  puts("closed");
  simco_client_close(call->client);
}

static void on_enabled(void *user, int error, const simco_reply *reply) {
  struct call *call = user;
  simco_request end;
  char text[64];
  if (error) {
    fail(call, "no pinhole", error);
    return;
  }
  simco_tuple_format(reply->outside, text, sizeof text);
  printf("rule %u: external hosts send to %s for %u s\n", reply->pid, text, reply->lifetime);
  memset(&end, 0, sizeof end);
  end.type = SIMCO_CHANGE_LIFETIME; /* lifetime 0 ends the rule */
  end.pid = reply->pid;
  error = simco_client_submit(call->client, &end, on_removed, call);
  if (error) fail(call, "the pinhole stays", error);
}

static void on_open(void *user, const simco_capabilities *capabilities) {
  struct call *call = user;
  simco_request request;
  int error;
  (void)capabilities;
  memset(&request, 0, sizeof request);
  request.type = SIMCO_ENABLE;
  request.lifetime = 60;
  request.direction = SIMCO_BIDIRECTIONAL;
  if (simco_tuple_parse(&request.internal, call->internal, 4, 17, SIMCO_INTERNAL) ||
      simco_tuple_parse(&request.external, call->external, 4, 17, SIMCO_EXTERNAL)) {
    fail(call, "endpoint", SIMCO_ERR_INVALID);
    return;
  }
  error = simco_client_submit(call->client, &request, on_enabled, call);
  if (error) fail(call, "no pinhole", error);
}

static void on_end(void *user, int error) {
  struct call *call = user;
  if (error == SIMCO_ERR_TERMINATED) {
    call->done = 1;
  } else if (error == SIMCO_ERR_CONNECT) {
    fprintf(stderr, "pinhole: %s\n", simco_client_error_text(call->client));
    call->done = call->failed = 1;
  } else {
    fail(call, "session", error);
  }
}

int main(int argc, char **argv) {
  const simco_callbacks callbacks = {on_open, NULL, on_end};
  struct call call;
  struct pollfd wait;
  char text[256];
  int error;
  if (argc != 4) {
    fprintf(stderr, "usage: pinhole MIDDLEBOX INTERNAL EXTERNAL\n");
    return 2;
  }
  memset(&call, 0, sizeof call);
  call.internal = argv[2];
  call.external = argv[3];
  call.client = simco_client_new(NULL, &callbacks, &call, text, sizeof text);
  if (call.client == NULL) {
    fprintf(stderr, "pinhole: %s\n", text);
    return 1;
  }
  error = simco_client_open(call.client, argv[1]);
  if (error) fail(&call, argv[1], error);
  wait.fd = simco_client_fd(call.client);
  wait.events = POLLIN;
  while (!call.done) {
    poll(&wait, 1, -1);
    simco_client_dispatch(call.client);
  }
  simco_client_free(call.client);
  return call.failed;
}
