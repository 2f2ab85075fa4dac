/* SIMCO agent (RFC 4540) in C: for SIP proxies that open pinholes and address bindings.
 *
 * Level one, simco_agent: no I/O and no clock. The caller owns the connection (TCP, with TLS or
 * not) and the event loop:
 *
 *     agent = simco_agent_new(&config, &callbacks, user, now_ms);
 *     loop: simco_agent_output() -> write() -> simco_agent_consume();
 *           read() -> simco_agent_feed();
 *           wait until simco_agent_next_deadline(), then simco_agent_on_deadline().
 *
 * Level two, simco_client: connects by itself, over TCP, TLS, SCTP or QUIC. All clients of a process
 * share one thread of the library (a program that forks makes its clients afterwards). The caller
 * polls one file descriptor for reading and calls simco_client_dispatch() when it is readable; all
 * callbacks run from there.
 *
 * Threads: use one simco_agent or simco_client from one thread at a time. Different objects are
 * independent. Callbacks may submit requests; they must not free the object that calls them.
 *
 * Errors: functions return SIMCO_OK, or one of enum simco_error. Replies carry SIMCO_OK, a
 * simco_error, or the middlebox's negative reply, 0x0310 to 0x0358 (RFC 4540 section 4.2.3).
 * simco_strerror() names each. When memory is exhausted, functions return SIMCO_ERR_NO_MEMORY (or
 * NULL, if they return a pointer), and a session of level one that cannot go on ends with it. The
 * thread of level two, and simco_client_free(), then abort the process.
 *
 * Times are milliseconds on a monotonic clock of the caller's choice; lifetimes are seconds.
 */
#ifndef SIMCO_AGENT_H
#define SIMCO_AGENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SIMCO_API __attribute__((visibility("default")))
#else
#define SIMCO_API
#endif

/* --- Errors ----------------------------------------------------------------------------------- */

enum simco_error {
  SIMCO_OK = 0,
  SIMCO_ERR_NOT_OPEN = -1,               /* no session is open */
  SIMCO_ERR_ALREADY_OPEN = -2,           /* a session is open, or being opened */
  SIMCO_ERR_TIMEOUT = -3,                /* no reply in time; the request may have been carried out */
  SIMCO_ERR_CONNECTION_LOST = -4,        /* open again; rules outlive sessions */
  SIMCO_ERR_TERMINATED = -5,             /* the session was closed first */
  SIMCO_ERR_MIDDLEBOX_TERMINATED = -6,   /* the middlebox ended the session (AST) */
  SIMCO_ERR_BADLY_FORMED = -7,           /* the middlebox rejected a message (BFM) */
  SIMCO_ERR_AUTHENTICATION_NEEDED = -8,  /* the middlebox requires a name and secret */
  SIMCO_ERR_NOT_AUTHENTIC = -9,          /* the middlebox failed to authenticate itself */
  SIMCO_ERR_PROTOCOL = -10,              /* the middlebox violated the protocol */
  SIMCO_ERR_OVERLOADED = -11,            /* too much is queued; try again after some replies */
  SIMCO_ERR_TIDS_EXHAUSTED = -12,        /* no transaction identifiers left: open a new session */
  SIMCO_ERR_INVALID = -13,               /* an argument is invalid */
  SIMCO_ERR_CONNECT = -14,               /* cannot connect; simco_client_error_text() says why */
  SIMCO_ERR_NO_MEMORY = -15              /* out of memory; the request may be carried out */
};

/* Returns a sentence for a simco_error or a negative reply. Static; never NULL. */
SIMCO_API const char *simco_strerror(int error);

/* --- Addresses (4.3.8) ------------------------------------------------------------------------ */

enum simco_location { SIMCO_INTERNAL = 0, SIMCO_INSIDE = 1, SIMCO_OUTSIDE = 2, SIMCO_EXTERNAL = 3 };

typedef struct simco_tuple {
  uint8_t protocols_only; /* 1: no address and no port, only version, prefix and protocol */
  uint8_t ip_version;     /* 4 or 6; 0 in a reply that does not say it */
  uint8_t prefix_length;  /* significant bits; fewer than 32 or 128 is a wildcard */
  uint8_t protocol;       /* IANA protocol number; 0 is any */
  uint8_t location;       /* enum simco_location */
  uint16_t port;          /* first port; 0 is any */
  uint16_t port_range;    /* number of consecutive ports */
  uint8_t address[16];    /* network byte order; IPv4 uses the first four octets */
} simco_tuple;

/* Reads "10.0.0.5:5004/2" (an address and two ports from 5004 on), "10.0.0.5:5004", "10.0.0.0/24",
 * "[2001:db8::5]:5004" or "any". `ip_version` (4 or 6) is that of "any", also with a port; for an
 * address it is ignored. Returns SIMCO_OK, SIMCO_ERR_INVALID or SIMCO_ERR_NO_MEMORY. */
SIMCO_API int simco_tuple_parse(simco_tuple *tuple, const char *text, int ip_version,
                                uint8_t protocol, enum simco_location location);

/* Writes the tuple as simco_tuple_parse() reads it, with a final NUL, cut to `size`. Returns the
 * length of the whole text without the NUL. */
SIMCO_API size_t simco_tuple_format(const simco_tuple *tuple, char *text, size_t size);

/* --- Requests and replies (section 5.3) ------------------------------------------------------- */

enum simco_request_type {
  SIMCO_RESERVE = 0x11,         /* PRR: holds addresses and ports for a rule to come */
  SIMCO_ENABLE = 0x12,          /* PER: opens a pinhole */
  SIMCO_ENABLE_RESERVED = 0x13, /* PEA: opens it from a reservation */
  SIMCO_DISABLE = 0x14,         /* PDR: blocks traffic, and ends rules that enable it */
  SIMCO_CHANGE_LIFETIME = 0x15, /* PLC: lifetime 0 ends the rule */
  SIMCO_STATUS = 0x21,          /* PRS */
  SIMCO_LIST = 0x22             /* PRL */
};

enum simco_direction { SIMCO_INBOUND = 1, SIMCO_OUTBOUND = 2, SIMCO_BIDIRECTIONAL = 3 };
enum simco_parity { SIMCO_PARITY_ANY = 0, SIMCO_PARITY_ODD = 1, SIMCO_PARITY_EVEN = 2 };

/* Zero it, then set the members of the type. */
typedef struct simco_request {
  enum simco_request_type type;
  uint32_t lifetime;     /* all but STATUS and LIST: requested, seconds */
  uint32_t group;        /* RESERVE, ENABLE: GID to join; 0: a new group */
  uint32_t pid;          /* ENABLE_RESERVED, CHANGE_LIFETIME, STATUS: the rule */
  simco_tuple internal;  /* ENABLE, ENABLE_RESERVED, DISABLE */
  simco_tuple external;  /* likewise */
  uint8_t direction;     /* ENABLE, ENABLE_RESERVED: enum simco_direction */
  uint8_t same_parity;   /* ENABLE, ENABLE_RESERVED: 1: the NAT keeps the ports' parity */
  uint8_t twice_nat;     /* RESERVE: 1: on both sides; 0: outside only */
  uint8_t parity;        /* RESERVE: enum simco_parity */
  uint8_t inside_version;  /* RESERVE: 4, 6, or 0 for any */
  uint8_t outside_version; /* RESERVE: 4, 6, or 0 for any */
  uint8_t protocol;        /* RESERVE: IANA protocol number; 0 reserves the address alone */
  uint16_t port_range;     /* RESERVE: consecutive ports */
} simco_request;

enum simco_rule_kind { SIMCO_RULE_RESERVED = 1, SIMCO_RULE_ENABLED = 2, SIMCO_RULE_DISABLED = 3 };

/* A positive reply. Which fields are set depends on the request; the rest is 0 or NULL. Pointers are
 * valid during the callback only. */
typedef struct simco_reply {
  uint32_t pid;
  uint32_t group;              /* 0: in none */
  uint32_t lifetime;           /* granted (STATUS: left), seconds; 0: the rule is gone */
  const simco_tuple *internal; /* STATUS */
  const simco_tuple *inside;   /* RESERVE, ENABLE, ENABLE_RESERVED, STATUS */
  const simco_tuple *outside;  /* likewise: where external hosts send to */
  const simco_tuple *external; /* STATUS */
  enum simco_rule_kind kind;   /* STATUS */
  uint8_t direction;           /* STATUS of an enabled rule */
  const char *owner;           /* STATUS: not terminated by NUL */
  size_t owner_size;
  const uint32_t *pids; /* LIST */
  size_t pid_count;
} simco_reply;

/* The end of a request; called once for each that was submitted. `reply` is NULL unless `error` is
 * SIMCO_OK. */
typedef void (*simco_reply_cb)(void *user, int error, const simco_reply *reply);

/* A change of a rule that the agent did not ask for (ARE, 5.3.19). */
typedef struct simco_event {
  uint32_t pid;
  uint32_t lifetime; /* seconds; 0: the rule is gone */
  uint64_t lost;     /* events dropped before this one because none were taken */
} simco_event;

/* The middlebox's capabilities (4.3.3). */
typedef struct simco_capabilities {
  uint8_t packet_filter, nat, disable_rules, port_translation, protocol_translation, twice_nat;
  uint8_t internal_wildcards, external_wildcards, port_wildcards, persistent;
  uint8_t internal_versions, external_versions; /* bit 0: IPv4, bit 1: IPv6 */
  uint32_t lifetime_max;                        /* longest lifetime granted, seconds */
} simco_capabilities;

typedef struct simco_callbacks {
  void (*on_open)(void *user, const simco_capabilities *capabilities);
  void (*on_event)(void *user, const simco_event *event);
  /* The session is over, or could not be opened. SIMCO_ERR_TERMINATED after a close. */
  void (*on_end)(void *user, int error);
} simco_callbacks; /* each may be NULL */

/* --- Level one: no I/O ------------------------------------------------------------------------- */

typedef struct simco_agent_config {
  uint32_t timeout_ms;          /* for opening, and for each reply; 0: 60,000 */
  const char *name;             /* this agent's, if the middlebox asks; NULL: none */
  const char *secret;           /* goes with `name` */
  size_t secret_size;           /* octets of `secret` */
  const char *middlebox_secret; /* requires the middlebox to authenticate; NULL: no */
  size_t middlebox_secret_size;
} simco_agent_config;

typedef struct simco_agent simco_agent;

/* Creates an agent for a connection that is open, and queues the session's first message. `config` may be NULL. Returns NULL
 * if memory is exhausted or the configuration is invalid (a name without a secret). */
SIMCO_API simco_agent *simco_agent_new(const simco_agent_config *config,
                                       const simco_callbacks *callbacks, void *user,
                                       int64_t now_ms);
/* Frees the agent; callbacks that are due are not called. NULL does nothing. */
SIMCO_API void simco_agent_free(simco_agent *agent);

/* Takes octets that arrived from the middlebox. */
SIMCO_API void simco_agent_feed(simco_agent *agent, const void *octets, size_t size);
/* Octets for the middlebox: sets `octets` and returns how many. Valid until the next call that is
 * given the agent. */
SIMCO_API size_t simco_agent_output(const simco_agent *agent, const void **octets);
/* Removes the first `size` octets of the output, which were written; at most the size
 * that simco_agent_output() returned. */
SIMCO_API void simco_agent_consume(simco_agent *agent, size_t size);
/* Returns the time at which simco_agent_on_deadline() must be called, or -1 if there is none. */
SIMCO_API int64_t simco_agent_next_deadline(const simco_agent *agent);
SIMCO_API void simco_agent_on_deadline(simco_agent *agent, int64_t now_ms);

/* Sends a request. If it returns SIMCO_OK, `done` will be called once. */
SIMCO_API int simco_agent_submit(simco_agent *agent, const simco_request *request, int64_t now_ms,
                                 simco_reply_cb done, void *user);
/* Ends the session (ST), or gives up opening it; on_end follows. */
SIMCO_API void simco_agent_close(simco_agent *agent, int64_t now_ms);
/* The connection is lost: all open requests end with SIMCO_ERR_CONNECTION_LOST. */
SIMCO_API void simco_agent_connection_lost(simco_agent *agent);

/* --- Level two: with a connection and a thread of its own -------------------------------------- */

typedef struct simco_client_config {
  simco_agent_config agent;
  const char *transport;  /* "tcp", "sctp" or "quic"; NULL: tcp */
  uint16_t streams;       /* SCTP, QUIC: number of streams; 0: 16 */
  uint16_t udp_encaps;    /* SCTP in UDP (RFC 6951): the middlebox's UDP port; 0: 9899 */
  const char *tls_certificate; /* PEM files; NULL: no TLS, and so no QUIC */
  const char *tls_key;
  const char *tls_authority;
  const char *tls_name; /* name in the middlebox's certificate; NULL: the host */
} simco_client_config;

typedef struct simco_client simco_client;

/* Creates a client, without connecting it. Returns NULL if the configuration is invalid or
 * a resource is exhausted; then `error`, if not NULL, receives a sentence of at most `error_size`
 * octets with its NUL. */
SIMCO_API simco_client *simco_client_new(const simco_client_config *config,
                                         const simco_callbacks *callbacks, void *user, char *error,
                                         size_t error_size);
/* Closes the connection and frees the client; callbacks that are due are not called. NULL does
 * nothing. */
SIMCO_API void simco_client_free(simco_client *client);

/* Connects to "HOST", "HOST:PORT" or "[IPV6]:PORT" (port 7626 unless named) and opens a session;
 * on_open or on_end follows. May be called again after on_end. Returns SIMCO_ERR_INVALID for any
 * other text. */
SIMCO_API int simco_client_open(simco_client *client, const char *middlebox);
/* A descriptor that is readable when simco_client_dispatch() has something to do. */
SIMCO_API int simco_client_fd(const simco_client *client);
/* Runs the callbacks that are due, without waiting. Returns how many it ran. */
SIMCO_API size_t simco_client_dispatch(simco_client *client);
/* Sends a request. If it returns SIMCO_OK, `done` will be called once, from a dispatch. */
SIMCO_API int simco_client_submit(simco_client *client, const simco_request *request,
                                  simco_reply_cb done, void *user);
/* Ends the session (ST), or gives up opening it, also again after a loss; on_end follows. Returns
 * SIMCO_ERR_NOT_OPEN if there is neither. */
SIMCO_API int simco_client_close(simco_client *client);
/* Why the last simco_client_open() failed with SIMCO_ERR_CONNECT, as a sentence. Valid until the
 * next dispatch. */
SIMCO_API const char *simco_client_error_text(const simco_client *client);

/* --- Level two: sessions and rules that are kept ----------------------------------------------- */

/* Called when the session was lost and after each attempt to reconnect that failed, with the reason,
 * and with SIMCO_OK when a session is open again. */
typedef void (*simco_change_cb)(void *user, int error);

/* From now on the client opens a lost session again until simco_client_close(), after 0.1 s at first
 * and every 30 s in the end; on_end is called only if the first attempt fails or after a close.
 * Requests that are submitted meanwhile wait for the session, up to the timeout; those under way at
 * the loss end with an error. `on_change` may be NULL; it is given the user of the callbacks. */
SIMCO_API int simco_client_reconnect(simco_client *client, simco_change_cb on_change);

enum simco_loss {
  SIMCO_LOSS_ENDED = 1,  /* the rule does not exist, or the middlebox announced its end */
  SIMCO_LOSS_EXPIRED = 2, /* its lifetime ran out before a renewal succeeded */
  SIMCO_LOSS_NOT_OURS = 3 /* its PID denotes another rule */
};

/* The rule could not be kept. */
typedef void (*simco_lost_cb)(void *user, uint32_t pid, enum simco_loss why);

/* Submits an ENABLE or ENABLE_RESERVED request and keeps its rule: it is renewed in the middle of each
 * lifetime, and looked for in the next session after a reconnection. `lost` is called once if it
 * cannot be kept. A CHANGE_LIFETIME request with 0 ends the rule and the keeping. */
SIMCO_API int simco_client_hold(simco_client *client, const simco_request *request,
                                simco_reply_cb done, simco_lost_cb lost, void *user);
/* The rule is not renewed any longer, and lives for the rest of its lifetime. */
SIMCO_API int simco_client_release(simco_client *client, uint32_t pid);

#ifdef __cplusplus
}
#endif

#endif
