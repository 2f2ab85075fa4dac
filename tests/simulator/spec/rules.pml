/* The rules of one middlebox by RFC 4540, as agents see them: two agents, RULES rules, SLOTS
   requests at a time, a backend that may refuse, lifetimes, and the death of the process.

   A request is asked; planned, if its checks pass, and its rule is busy from here on; carried out
   by the backend; and answered. Or its refusal is decided, and answered. A step that agents see
   is CAN(...) when it may happen and DID(...) when it has: steps.pml compares it with a trace, or
   prints it. PLANTED is a planted fault, which the properties find. */
#include "words.pml"

#define RULES 2
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef PLANTED
#define PLANTED 0
#endif
typedef Rule {
  byte kind;    /* 0: not there yet */
  byte owner;
  byte left;    /* of its lifetime */
  bit exposed;  /* a disable rule hits its packets */
  bit doomed;   /* and has ended it */
  bit busy;     /* a change of it is planned */
  bit failing;  /* the backend has refused to remove it */
  bit open;     /* the kernel enforces it */
};
#define asked   1
#define planned 2
#define carried 3
#define decided 4
typedef Request {
  byte phase; byte op; byte who; byte about;
  byte left;    /* lifetime, from the plan on */
  byte outcome; /* that is decided */
};
Rule rule[RULES + 1];         /* by the order of their creation, from 1 */
Request req[3];               /* of which SLOTS are used */
byte count;                   /* rules made so far */
byte making;                  /* rules whose creation is planned */
byte disabling;               /* disable rules in force */
byte pdrs;                    /* those that are planned */

#define MAKES(op)  (op == per || op == prr || op == pdr)
#define LIVE(r)    (rule[r].kind != 0 && rule[r].kind != over)
/* It has ended, and only not been removed yet. */
#define DUE(r)     (LIVE(r) && (rule[r].left == 0 || rule[r].doomed))
#define OWNS(w, r) (w == boss || rule[r].owner == w)
/* boss's disable rules hit a's packets. */
#define HIT(r)     (rule[r].kind == enabled && rule[r].exposed)
#define BLOCKED(w) (w == a && disabling > 0)

#define KIND(op)   (op == per || op == pea -> enabled : (op == prr -> reserved : (op == pdr -> disabled : 0)))
#define EVENT(op)  (MAKES(op) -> made : (op == end -> ended : changed))
#define RULE(s)    (MAKES(req[s].op) -> count + 1 : req[s].about)
#define LESS(x, n) (x > n -> x - n : 0)
#include "steps.pml"

/* --- Requests --------------------------------------------------------------------------------- */

inline forget(s) {
  req[s].phase = 0; req[s].op = 0; req[s].who = 0;
  req[s].about = 0; req[s].left = 0; req[s].outcome = 0
}

/* The checks of a request, in their order. Returns 0 if it may be planned. */
#define CHECK_ABOUT(w, o, r) \
  (!LIVE(r) || DUE(r) -> no_such_rule : \
  (o == pea && rule[r].kind != reserved -> inconsistent : \
  (!OWNS(w, r) && PLANTED != 1 -> denied : \
  (o == pea && BLOCKED(w) -> conflict : \
  (o == prs -> rule[r].kind : 0)))))
#define CHECK(w, o, r) \
  (MAKES(o) -> (o == per && BLOCKED(w) -> conflict : 0) : CHECK_ABOUT(w, o, r))

inline decide(s) {
  req[s].outcome = CHECK(req[s].who, req[s].op, req[s].about);
  if
  :: req[s].outcome != 0 -> req[s].phase = decided
  :: else ->
     req[s].phase = planned;
     req[s].left = LIFETIME(req[s].who, req[s].op);
     if :: MAKES(req[s].op) -> making++ :: else -> rule[req[s].about].busy = 1 fi;
     if :: req[s].op == pdr -> pdrs++ :: else fi
  fi
}
/* The backend has carried out the planned change or refused it. */
inline settle(s) {
  if :: MAKES(req[s].op) -> making-- :: else -> rule[req[s].about].busy = 0 fi;
  if :: req[s].op == pdr -> pdrs-- :: else fi
}
inline fail(s) {
  settle(s);
  if :: req[s].op == end && DUE(req[s].about) -> rule[req[s].about].failing = 1 :: else fi
}
inline remove(r) {
  if :: rule[r].kind == disabled -> disabling-- :: else fi;
  rule[r].kind = over; rule[r].left = 0; rule[r].owner = 0;
  rule[r].exposed = 0; rule[r].doomed = 0; rule[r].failing = 0; rule[r].open = 0
}
/* The enable rules that a new disable rule hits end, whatever is under way. */
inline disable() {
  disabling++;
  rule[1].doomed = rule[1].doomed || HIT(1);
  rule[2].doomed = rule[2].doomed || HIT(2)
}
inline carry_out(s) {
  settle(s);
  if :: MAKES(req[s].op) -> count++; req[s].about = count; rule[count].owner = req[s].who :: else fi;
  if :: req[s].op == end -> remove(req[s].about) :: else -> rule[req[s].about].left = req[s].left fi;
  if
  :: KIND(req[s].op) != 0 ->
     rule[req[s].about].kind = KIND(req[s].op);
     rule[req[s].about].open = 1;
     rule[req[s].about].exposed = (KIND(req[s].op) == enabled && req[s].who == a)
  :: else
  fi;
  if :: req[s].op == pdr -> disable() :: else fi;
  req[s].left = 0; req[s].phase = carried
}

/* It waits for another change of its rule, or for a disable rule that may end it. */
#define WAITS(s) ((!MAKES(req[s].op) && rule[req[s].about].busy) || (pdrs > 0 && req[s].op == per))
#define ROOM(s)  (!MAKES(req[s].op) || count + making < RULES)
/* A disable rule that was asked for later is in force. */
#define OVERTAKEN(s) (BLOCKED(req[s].who) && (req[s].op == per || req[s].op == pea))
#define CARRIES(s) (req[s].phase == planned && (!OVERTAKEN(s) || PLANTED == 2))
/* A PDR is answered when the rules that it hits are gone (5.3.17), or the backend keeps them. */
#define ENDING(r) (rule[r].doomed && !rule[r].failing)
#define SOME_END (ENDING(1) || ENDING(2))
#define ANSWERS(s) (req[s].phase == carried && (req[s].op != pdr || !SOME_END || PLANTED == 3) || \
  PLANTED == 4 && req[s].phase == planned && req[s].op == end)

/* The properties of a positive reply. */
inline judge(s) {
  r = req[s].about;
  assert(r != 0 && (OWNS(req[s].who, r) || rule[r].kind == over));
  assert(req[s].op == end || rule[r].open || rule[r].kind == over);
  assert(req[s].op != end || !rule[r].open);
  assert(req[s].op != pdr || !(ENDING(1) && rule[1].open || ENDING(2) && rule[2].open));
  r = 0
}

/* The properties of every state: the kernel enforces the rules that live, and no others; an enable
   rule that a disable rule hits is on its way out. */
#define TRUE_KERNEL(r) (rule[r].open == LIVE(r) && (!HIT(r) || disabling == 0 || rule[r].doomed))

#define REPLY(s, guard, o, then) atomic { guard && CAN(reply, s, 0, o, req[s].about) -> \
  then; DID(reply, s, 0, o, req[s].about); forget(s) }
/* What may happen to the request in slot s. */
proctype request(byte s) {
  byte r;
endless:
  do
  :: ASKED(a, per, 0) :: ASKED(a, prr, 0) :: ASKED(boss, per, 0) :: ASKED(boss, pdr, 0)
  :: ASKED_ABOUT(1) :: ASKED_ABOUT(2)
  :: d_step { req[s].phase == asked && !WAITS(s) && ROOM(s) -> decide(s) }
  :: atomic { CARRIES(s) && CAN(EVENT(req[s].op), 0, 0, KIND(req[s].op), RULE(s)) ->
       carry_out(s); DID(EVENT(req[s].op), 0, 0, KIND(req[s].op), req[s].about) }
  :: REPLY(s, req[s].phase == planned && OVERTAKEN(s), conflict, settle(s))
  :: REPLY(s, req[s].phase == planned, failed, fail(s))
  :: REPLY(s, req[s].phase == decided, req[s].outcome, skip)
  :: REPLY(s, ANSWERS(s), granted, judge(s))
  od
}

/* --- Rules, time and the process -------------------------------------------------------------- */

/* The end of a rule; if the backend refuses, it is tried again. */
proctype lifetime(byte r) {
endless:
  do
  :: atomic { DUE(r) && !rule[r].busy && CAN(ended, 0, 0, 0, r) ->
       remove(r); DID(ended, 0, 0, 0, r) }
  :: atomic { DUE(r) && !rule[r].busy && CAN(stuck, 0, 0, 0, r) ->
       rule[r].failing = 1; DID(stuck, 0, 0, 0, r) }
  :: atomic { !TRUE_KERNEL(r) -> assert(false) }
  od
}

/* Time goes on, to the end of the rule that ends first unless a trace says by how much. */
inline age() {
  n = (PASSED != 0 -> PASSED : (!LIVE(1) || LIVE(2) && rule[2].left < rule[1].left -> rule[2].left : rule[1].left));
  for (i : 1 .. RULES) { rule[i].left = LESS(rule[i].left, n) }
  for (i : 0 .. SLOTS - 1) { req[i].left = LESS(req[i].left, n) }
  i = 0
}
/* The change was in the store already: the next process has it, and nobody has heard of it. */
#define KEPT(s) CARRIES(s) -> carry_out(s)
/* Requests are gone; rules are recovered, but for those that are over, or about to be removed. */
inline die() {
  do :: KEPT(0) :: KEPT(1) :: KEPT(2) :: break od;
  for (i : 0 .. SLOTS - 1) { forget(i) }
  making = 0; pdrs = 0;
  for (i : 1 .. RULES) {
    rule[i].busy = 0; rule[i].failing = 0;
    if :: DUE(i) -> remove(i) :: !LIVE(i) || rule[i].left != 0 -> skip fi
  }
  i = 0
}
proctype world() {
  byte n; byte i;
endless:
  do
  :: atomic { MAY_PASS && CAN(pass, 0, 0, PASSED, 0) -> age(); DID(pass, 0, 0, n, 0); n = 0 }
  :: atomic { MAY_DIE && CAN(kill, 0, 0, 0, 0) -> die(); DID(kill, 0, 0, 0, 0) }
  :: FOUND(1) :: FOUND(2) :: RESTED
  od
}

init {
  byte s;
  atomic {
    START;
    for (s : 0 .. SLOTS - 1) { run request(s) }
    s = 0; run lifetime(1); run lifetime(2); run world()
  }
}
