/* Two boxes enforce the rules of one store: its owner, and a box that stands by, which lets packets
   pass while it has a lease (middlebox/store/redis_boxes.hpp). Each batch makes or ends the one
   rule. Any step may take any time; a lease of LEASE ticks, and the owner's patience of one more,
   end by the clock. A question has no number here, but the ticks that a lease by it has left,
   wherever it is told of. FAULTS bounds the deaths of the owner's process, losses of Redis' data,
   its returns to an earlier state (if RETURNS is defined), the times that it stands still, and the
   cuts between the owner and its Redis. PLANTED is a planted fault, which the property finds. */
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef BATCHES
#define BATCHES 3
#endif
#ifndef PLANTED
#define PLANTED 0
#endif
#define LEASE 2
#define enabled 1
#define deleted 2
typedef Redis {
  byte owner;        /* its token, from 1; 0: there is nothing */
  byte batch;
  bit has;           /* the rule */
  byte previous;     /* the owner, up to this batch, */
  byte claimed;      /* whose history this one continues */
  byte asked_owner;  /* the last question: to which owner, by which batch, ticks left */
  byte asked_batch;
  byte question;
  bit unread;
  byte answered_by;  /* the last answer: by which owner, ticks left of its question */
  byte answer;
  bit left           /* it ends, and the answer is to any question */
};
Redis redis;         /* of the owner; the other box follows the copy */
Redis earlier;       /* a state that it may return to */
byte copy_owner; byte copy_batch; bit copy_has; byte copy_previous; byte copy_claimed;
bit stands;          /* Redis stands still: nobody is answered */
bit cut;             /* the owner does not reach it */
bit lost_boxes;      /* it has forgotten who has asked */
byte faults;
byte told;           /* the last reply, unless something has happened to the rule since */
/* The box that stands by. */
byte follows;
byte enforces;
bit open;
byte lease;          /* ticks that are left */
byte asks;           /* of the lease that it asks for */
byte granted;        /* of the lease that it will hear of */
/* The owner's process. */
byte token;
byte read;           /* ticks that a box which has asked may have a lease */
byte patience;       /* the same since the last batch was stored */
byte replied;        /* ticks of an answer that is on its way; */
byte replied_by;     /* 0: there is none */
bit killed;

#define FAULT(guard) faults < FAULTS && (guard) -> faults++
#define TICK(ticks) ticks = (ticks -> ticks - 1 : 0)

active proctype property() {
endless:
  atomic { told && lease && open != (told == enabled) -> assert(false) }
}

active proctype clock() {
endless:
  do
  :: atomic { lease || asks || granted || read || patience || replied ||
              redis.question || redis.answer || earlier.question || earlier.answer ->
       TICK(lease); TICK(asks); TICK(granted); TICK(read); TICK(patience); TICK(replied);
       TICK(redis.question); TICK(redis.answer); TICK(earlier.question); TICK(earlier.answer) }
  od
}

active proctype replication() {
endless:
  do
  :: atomic { copy_owner != redis.owner || copy_batch != redis.batch || copy_has != redis.has ->
       copy_owner = redis.owner; copy_batch = redis.batch; copy_has = redis.has;
       copy_previous = redis.previous; copy_claimed = redis.claimed }
  od
}

#define GOES_BACK (copy_owner == follows && copy_batch < enforces)
#define NEWS      (copy_owner != follows || copy_batch > enforces)
#define CONTINUED (copy_owner == follows || (copy_previous == follows && copy_claimed >= enforces))
active proctype stands_by() {
  byte owner; byte batch;
endless:
  do
  :: atomic { copy_owner && NEWS && !GOES_BACK ->
       if :: !CONTINUED && PLANTED != 8 -> lease = 0 :: else fi;
       follows = copy_owner; enforces = copy_batch; open = copy_has }
  :: atomic { follows && lease < LEASE -> asks = LEASE; owner = follows; batch = enforces };
     atomic { !stands ->
       redis.asked_owner = owner; redis.asked_batch = batch; redis.question = asks; redis.unread = 1;
       granted = (redis.answered_by == owner -> (redis.left -> asks : redis.answer) : 0);
#if PLANTED == 1
       granted = asks;
#elif PLANTED == 2
       granted = (redis.answered_by == owner -> LEASE : 0);
#endif
       if
       :: redis.owner == owner && (redis.batch == batch || PLANTED == 7)
       :: else -> granted = 0
       fi };
     atomic {
       if :: granted > lease -> lease = granted :: else fi;
       asks = 0; granted = 0; owner = 0; batch = 0 }
  od
}

/* Commands that the owner has sent arrive, though it may not be there to see it. */
active proctype connection() {
endless:
  do
  :: atomic { replied_by && !stands && !cut ->
       redis.answered_by = replied_by; redis.answer = replied; redis.left = 0;
       replied_by = 0; replied = 0 }
  od
}

#define REACHED   (!stands && !cut)
#define OWNED     (redis.owner == token && redis.batch >= stored)
#define CONFIRMED (known >= tried)
inline read_question() {
  if
  :: redis.unread && redis.asked_owner == token ->
    redis.unread = 0; read = LEASE + 1; known = redis.asked_batch;
    replied_by = token; replied = redis.question
  :: else
  fi
}
/* A loss of data is a failure, and writing everything the next try. */
#define TOLD      (OWNED || !read)
/* After a loss of data it writes everything: a follower finds a number missing. */
inline exec() {
  lost = !OWNED;
  tried = tried + (lost -> 2 : 1);
  if :: lost -> redis.asked_owner = 0; redis.unread = 0; redis.answered_by = 0; redis.left = 0 :: else fi;
  redis.owner = token; redis.batch = tried; redis.has = v
}

active proctype middlebox() {
  bit v; bit lost; bit done; bit mine; bit failed;
  byte stored; byte tried; byte known; byte batches;
endless: /* It claims the store, and the rule is as there. If boxes are forgotten, a lease passes. */
  atomic { REACHED && batches < BATCHES && !(lost_boxes && (lease || granted)) ->
    batches++; token++; redis.previous = redis.owner; redis.claimed = redis.batch;
    redis.owner = token; stored = redis.batch; lost_boxes = 0;
    if :: redis.asked_owner && PLANTED != 6 -> read = LEASE + 1 :: else fi;
    tried = (tried > stored -> tried : stored); mine = redis.has;
    if :: told && mine != (told == enabled) -> told = 0 :: else fi };
  {
endless_idle:
    do
    :: atomic { REACHED && redis.unread && OWNED && (!failed || PLANTED == 5) -> read_question() }
    :: atomic { REACHED && OWNED && (!failed || PLANTED == 9) ->
         redis.answered_by = token; redis.left = 1; killed = 1 }
    :: atomic { batches < BATCHES -> batches++; told = 0; v = !mine; failed = 1 };
       if
       :: atomic { REACHED && TOLD -> exec(); read_question(); patience = LEASE + 1;
            stored = tried; done = 1; failed = 0; lost_boxes = 0 }
       :: atomic { !REACHED -> if :: tried++ :: skip fi }
       :: atomic { FAULT(REACHED && TOLD); stands = 1; exec() }
       fi;
       if
       :: done ->
          do
          :: atomic { REACHED && redis.unread && OWNED -> read_question() }
          :: atomic { CONFIRMED || !read || !patience || PLANTED == 3 -> break }
          :: atomic { !REACHED || !OWNED -> done = 0 }; !read; break
          od
       :: !done -> if :: !read :: PLANTED == 4 fi
       fi;
       atomic {
         if
         :: v && !done
         :: else -> mine = v; told = (v -> enabled : deleted)
         fi;
         v = 0; done = 0; lost = 0 }
    od
  } unless { killed };
  atomic {
    killed = 0; v = 0; done = 0; lost = 0; stored = 0; failed = 0; known = 0;
    read = 0; patience = 0; mine = 0
  };
  goto endless
}

inline becomes(to, from) {
  to.owner = from.owner; to.batch = from.batch; to.has = from.has;
  to.previous = from.previous; to.claimed = from.claimed;
  to.asked_owner = from.asked_owner; to.asked_batch = from.asked_batch;
  to.question = from.question; to.unread = from.unread;
  to.answered_by = from.answered_by; to.answer = from.answer; to.left = from.left
}

active proctype surroundings() {
  bit saved;
endless:
  do
  :: atomic { FAULT(!killed); killed = 1 }
  :: atomic { FAULT(!stands); stands = 1 }
  :: atomic { stands -> stands = 0 }
  :: atomic { FAULT(!cut); cut = 1 }
  :: atomic { cut -> cut = 0 }
  /* It ends its connections with its data: what was on its way is lost. */
  :: atomic { FAULT(redis.owner);
       redis.owner = 0; redis.batch = 0; redis.has = 0; redis.previous = 0; redis.claimed = 0;
       redis.asked_owner = 0;
       redis.asked_batch = 0; redis.question = 0; redis.unread = 0; redis.answered_by = 0;
       redis.answer = 0; redis.left = 0; replied_by = 0; replied = 0; lost_boxes = 1 }
#ifdef RETURNS
  :: atomic { !saved && faults < FAULTS && redis.owner -> saved = 1; becomes(earlier, redis) }
  :: atomic { FAULT(saved); saved = 0; becomes(redis, earlier); replied_by = 0; replied = 0;
       lost_boxes = 1;
       earlier.owner = 0; earlier.batch = 0; earlier.has = 0; earlier.previous = 0; earlier.claimed = 0;
       earlier.asked_owner = 0;
       earlier.asked_batch = 0; earlier.question = 0; earlier.unread = 0;
       earlier.answered_by = 0; earlier.answer = 0; earlier.left = 0 }
#endif
  od
}
