/* Two boxes, each with a middlebox and a Redis. keepalived may make either of them the master at
   any time, so both at once, too (split brain). Processes and hosts die between any two steps:
   journal, kernel, reply. Each middlebox writes to the Redis of its box, and a Redis that is not
   primary follows the other one with a delay. -DREPLICAS: a write counts once the replica has it
   (replicas=1). -DSHARED: both middleboxes write to the same Redis. FAULTS bounds deaths, takeovers,
   cuts and late confirmations. PLANTED is a planted fault, which the properties find. */
#ifndef FAULTS
#define FAULTS 3
#endif
#ifndef PLANTED
#define PLANTED 0
#endif
#define there 1
#define gone  2
typedef Redis {
  byte has[2];     /* rules: 0 (not made yet), there or gone, since no PID is used again */
  byte owner;      /* the box whose token it has, from 1 */
  bit primary;
};
typedef Box {
  bit works;       /* the host does */
  bit starts;      /* keepalived, or the service manager, starts the middlebox */
  bit runs;        /* the middlebox does */
  bit killed;      /* and ends at its next step */
  bit open[2];     /* rules that the kernel enforces */
  bit watches;     /* nobody has written to its Redis since WATCH */
};
Redis redis[2];
Box box[2];
bit cut;           /* between the two Redis */
byte faults;
/* What agents know of a rule: the last positive reply, if nothing has happened to it since. */
#define enabled 1
#define deleted 2
byte told[2];
/* The documented windows: the other Redis does not have what was told, or both boxes are masters. */
bit excused[2];
#define SPLIT        (redis[0].primary && redis[1].primary)
#define FOLLOWS(q)   (redis[1 - (q)].primary && !redis[q].primary && !cut && box[0].works && box[1].works)
#define AS(v)        (v -> there : gone)
#define AGREES(r, v) (told[r] != (v -> deleted : enabled))
#ifdef SHARED
#define STORE 0
#define TOUCH        box[1 - b].watches = 0  /* a write ends what the other one watches */
#define IS_MASTER(b) true
#else
#define STORE b
#define TOUCH        skip
#define IS_MASTER(b) redis[b].primary
#endif
#define OWNER        (redis[STORE].owner == b + 1)

/* --- A middlebox ------------------------------------------------------------------------------ */

inline claim() { redis[STORE].owner = b + 1; TOUCH }
inline read() {
  box[b].open[0] = (redis[STORE].has[0] == there);
  box[b].open[1] = (redis[STORE].has[1] == there)
}
#define CONFIRMED (!redis[1 - b].primary && redis[1 - b].has[r] == AS(v))
/* WATCH, a look at the token, and EXEC, which fails if another client has written since. */
inline journal() {
  atomic { box[b].watches = 1; if :: !OWNER -> goto stopped :: else fi };
  atomic {
    if
    :: box[b].watches || PLANTED == 1 ->
       assert(OWNER);
       redis[STORE].has[r] = AS(v); TOUCH; told[r] = 0; stored = 1;
#ifndef SHARED
       excused[r] = !(FOLLOWS(1 - b) && CONFIRMED)
#endif
    :: else -> stored = 0; if :: !OWNER -> goto stopped :: else fi
    fi;
    box[b].watches = 0
  }
}
/* WAIT ends when the replica has the write, or too late. */
inline wait() {
#ifdef REPLICAS
  if
  :: PLANTED == 4 -> confirmed = CONFIRMED
  :: atomic { FOLLOWS(1 - b) && CONFIRMED -> confirmed = 1 }
  :: atomic { FOLLOWS(1 - b) && faults < FAULTS -> faults++; stored = 0 }
  :: atomic { !FOLLOWS(1 - b) -> stored = 0 }
  fi
#else
  skip
#endif
}
/* Without the store nothing new is carried out, but rules end. */
#define GRANTED (stored || !v)
inline enforce() { atomic { if :: GRANTED -> box[b].open[r] = v; told[r] = 0 :: else fi } }
/* A reply that comes when another box owns the store is about the past: told is the owner's. */
inline answer() {
  atomic {
    if
    :: GRANTED ->
       assert(box[b].open[r] == v);
       assert(!OWNER || !v || redis[STORE].has[r] == there);
#ifdef REPLICAS
       assert(!v || confirmed);
       excused[r] = !(stored && CONFIRMED);
#endif
       if :: OWNER -> told[r] = (v -> enabled : deleted) :: else fi;
#ifndef SHARED
       excused[r] = excused[r] || SPLIT
#endif
    :: else
    fi
  }
}
/* The store forgets what was refused: the backlog, which is lost if the process dies now. */
inline take_back() { atomic { if :: !GRANTED && OWNER -> redis[STORE].has[r] = gone; TOUCH :: else fi } }
#define CAN_ASK(r) (box[b].open[r] || redis[STORE].has[r] == 0)
#define TRUE_KERNEL(r) (excused[r] && PLANTED != 5 || !OWNER || AGREES(r, box[b].open[r]))

proctype middlebox(byte b) {
  byte r; bit v; bit stored; bit confirmed;
endless:
  atomic { box[b].starts && !box[b].runs -> box[b].starts = 0; box[b].runs = 1 };
  {
#if PLANTED == 2
    atomic { read() }; atomic { claim() };
#else
    atomic { claim() }; atomic { read() };
#endif
    do
    :: assert(TRUE_KERNEL(0) && TRUE_KERNEL(1));
endless_idle: /* A request for a rule that is not there, or for the end of one that is. */
       if :: atomic { CAN_ASK(0) -> r = 0 } :: atomic { CAN_ASK(1) -> r = 1 } fi;
       v = !box[b].open[r];
#if PLANTED == 3
       stored = 1; answer(); journal(); wait(); enforce();
#else
       journal(); wait(); enforce(); answer(); take_back();
#endif
       atomic { r = 0; v = 0; stored = 0; confirmed = 0 }
    od;
stopped: /* It is the other box's now. */
    atomic { box[b].killed = 1; false }
  } unless { box[b].killed };
  atomic {
    box[b].runs = 0; box[b].killed = 0; box[b].watches = 0; r = 0; v = 0; stored = 0; confirmed = 0
  };
  goto endless
}

/* --- Around them ------------------------------------------------------------------------------ */

#define DIFFERS(r) (FOLLOWS(q) && redis[q].has[r] != redis[1 - q].has[r])
/* The replica has what was told: no excuse. */
#define ARRIVED(r) (excused[r] && FOLLOWS(q) && !DIFFERS(r) && AGREES(r, redis[q].has[r] == there))
proctype replication(byte q) {
endless:
  do
  :: atomic { DIFFERS(0) -> redis[q].has[0] = redis[1 - q].has[0] }
  :: atomic { DIFFERS(1) -> redis[q].has[1] = redis[1 - q].has[1] }
  :: atomic { ARRIVED(0) -> excused[0] = 0 }
  :: atomic { ARRIVED(1) -> excused[1] = 0 }
  od
}

#define FAULT(guard) faults < FAULTS && (guard) -> faults++
proctype surroundings(byte b) {
endless:
  do
  :: atomic { FAULT(IS_MASTER(b) && box[b].works && !box[b].runs && !box[b].starts); box[b].starts = 1 }
  :: atomic { FAULT(box[b].runs && !box[b].killed); box[b].killed = 1 }
  :: atomic { FAULT(box[b].works); box[b].works = 0; box[b].starts = 0;
       box[b].killed = box[b].runs; redis[b].primary = 0 }
  :: atomic { !box[b].works && !box[b].runs -> box[b].works = 1 }
#ifndef SHARED
  :: atomic { FAULT(box[b].works && !redis[b].primary); redis[b].primary = 1; box[b].starts = 1 }
  :: atomic { SPLIT -> box[b].starts = 0; box[b].killed = box[b].runs };
     atomic { !box[b].runs && !box[b].starts -> redis[b].primary = 0 }
  :: atomic { FAULT(!cut); cut = 1 }
  :: atomic { cut -> cut = 0 }
#endif
  od
}

init {
  atomic {
    box[0].works = 1; box[1].works = 1; box[0].starts = 1; redis[0].primary = 1;
    run middlebox(0); run middlebox(1); run surroundings(0); run surroundings(1);
#ifndef SHARED
    run replication(0); run replication(1)
#endif
  }
}
