/* How the steps of rules.pml meet a trace (-DTRACE), are printed (-DRUN), or go on alone. */
/* Lifetimes in seconds, of the requests of tests/simulator/small_world.cpp. */
#define LIFETIME(w, o) \
  (o == per -> (w == a -> 60 : 30) : (o == prr -> 50 : (o == pea -> 40 : (o == plc -> 20 : (o == pdr -> 45 : 0)))))
#define QUIET_RULE(r) (!DUE(r) || rule[r].failing)
#define SOME_LIVE (LIVE(1) || LIVE(2))
/* A request gets the lowest slot that is free. */
#define FREE(s) (req[s].phase == 0 && (s < 1 || req[0].phase != 0) && (s < 2 || req[1].phase != 0))
#define NONE_ASKED (req[0].phase == 0 && req[1].phase == 0 && req[2].phase == 0)
#define AT_REST (NONE_ASKED && QUIET_RULE(1) && QUIET_RULE(2))
#if defined(TRACE)
/* The next step of the trace, which only that step can take. */
byte step_; byte slot_; byte who_; byte value_; byte rule_;
short trace_; short at_;
c_decl { \#include "traces.h" }
inline look() {
  c_code {
    now.step_ = word_at(now.trace_, now.at_, 0);
    now.slot_ = word_at(now.trace_, now.at_, 1);
    now.who_ = word_at(now.trace_, now.at_, 2);
    now.value_ = word_at(now.trace_, now.at_, 3);
    now.rule_ = word_at(now.trace_, now.at_, 4);
  }
}
#define CAN(k, s, w, v, r) (step_ == (k) && slot_ == (s) && who_ == (w) && value_ == (v) && rule_ == (r))
#define DID(k, s, w, v, r) at_++; look()
#define START do :: c_expr { now.trace_ < trace_count - 1 } -> trace_++ :: break od; look()
#define PASSED value_
#define MAY_PASS 1
#define MAY_ASK(w, o, r) 1
#define MAY_DIE 1
#define FOUND(r) atomic { r <= count && CAN(found, 0, 0, rule[r].kind, r) -> DID(found, 0, 0, 0, r) }
#define RESTED atomic { AT_REST && CAN(rest, 0, 0, 0, 0) -> DID(rest, 0, 0, 0, 0) }
#elif defined(RUN)
#define CAN(k, s, w, v, r) (k != stuck)
#define DID(k, s, w, v, r) printf("step %d %d %d %d %d\n", k, s, w, v, r)
#define PASSED 0
#define MAY_PASS (AT_REST && SOME_LIVE)
/* The requests that the small world has, one at a time: so all that follows is determined. */
#define MAY_ASK(w, o, r) (AT_REST && (MAKES(o) || o == pea || r == (o == end && w == a -> 2 : 1)))
#define MAY_DIE 0
#else
#define CAN(k, s, w, v, r) 1
#define DID(k, s, w, v, r) skip
#define PASSED 0
#define MAY_PASS SOME_LIVE
#define MAY_ASK(w, o, r) 1
#define MAY_DIE 1
#endif
#ifndef TRACE
#define START skip
#define RESTED (false)
#define FOUND(r) (false)
#endif
#define ASKED(w, o, r) atomic { FREE(s) && MAY_ASK(w, o, r) && (r) <= count && CAN(ask, s, w, o, r) -> \
  req[s].phase = asked; req[s].op = o; req[s].who = w; req[s].about = r; DID(ask, s, w, o, r) }
#define ASKED_ABOUT(r) ASKED(a, pea, r) :: ASKED(a, plc, r) :: ASKED(a, end, r) \
  :: ASKED(boss, end, r) :: ASKED(boss, prs, r)
