/* Two boxes enforce the rules of one store: its owner, and a box that stands by, which lets packets
   pass while it has a lease (middlebox/store/redis_boxes.hpp). Each batch makes or ends the one
   rule. Any step may take any time; a lease of LEASE ticks, and the owner's patience of one more,
   end by the clock. FAULTS bounds the deaths of the owner's process, losses of Redis' data and the
   times that it stands still. PLANTED is a planted fault, which the property finds. */
#ifndef FAULTS
#define FAULTS 3
#endif
#ifndef BATCHES
#define BATCHES 4
#endif
#ifndef PLANTED
#define PLANTED 0
#endif
#define LEASE 2
#define enabled 1
#define deleted 2
typedef About {
  byte owner;        /* its token, from 1; 0: there is nothing */
  byte batch;
  bit has;           /* the rule */
  byte shared;       /* the owner that knows of a box beside it */
  byte withdrawn_by; /* this owner has tried batches in vain, */
  byte withdrawn;    /* up to this one */
};
About about;         /* in the owner's Redis, and in the copy that the other box follows */
About copy;
byte member;         /* the box in the set: of which owner, with which batch; 0: it is not there */
byte member_batch;
bit stands;          /* Redis stands still: nobody is answered */
bit went_on;         /* since the owner's last try */
byte faults;
byte told;           /* the last reply, unless something has happened to the rule since */
/* The box that stands by. */
byte follows;
byte enforces;
bit open;
byte lease;          /* ticks that are left */
byte asked;          /* of the lease that it asks for */
/* The owner's process. */
byte token;
byte patience;
bit killed;

#define FAULT(guard) faults < FAULTS && (guard) -> faults++

active proctype property() {
endless:
  atomic { told && lease && open != (told == enabled) -> assert(false) }
}

active proctype clock() {
endless:
  do
  :: atomic { lease || asked || patience ->
       lease = (lease -> lease - 1 : 0);
       asked = (asked -> asked - 1 : 0);
       patience = (patience -> patience - 1 : 0) }
  od
}

active proctype replication() {
endless:
  do
  :: atomic { copy.owner != about.owner || copy.batch != about.batch || copy.has != about.has ->
       copy.owner = about.owner; copy.batch = about.batch; copy.has = about.has }
  od
}

#define GOES_BACK (copy.owner == follows && copy.batch < enforces)
#define NEWS      (copy.owner != follows || copy.batch > enforces)
active proctype stands_by() {
  byte owner; byte batch; bit granted;
endless:
  do
  :: atomic { copy.owner && NEWS && !GOES_BACK ->
       follows = copy.owner; enforces = copy.batch; open = copy.has }
  :: atomic { follows && (about.owner != member || enforces != member_batch || lease < LEASE) ->
       asked = LEASE; owner = follows; batch = enforces };
     atomic { !stands -> member = owner; member_batch = batch;
       granted = (about.owner == owner && about.batch == batch &&
                  (about.withdrawn_by != owner || about.withdrawn < batch));
#if PLANTED != 1
       granted = granted && about.shared == owner
#endif
     };
     atomic {
#if PLANTED == 2
       asked = LEASE;
#endif
       if :: granted && asked > lease -> lease = asked :: else fi;
       asked = 0; owner = 0; batch = 0; granted = 0 }
  od
}

#define CONFIRMED (!shared || (member == token && member_batch >= tried))
/* It says that it knows of another box, and does not forget that. */
inline note() {
  shared = shared || member;
  if :: shared && about.owner == token -> about.shared = token :: else fi
}
/* After a loss of data it writes everything: a follower finds a number missing. */
inline exec() {
  lost = (about.owner != token || about.batch < stored);
  tried = tried + (lost -> 2 : 1);
  if :: lost -> member = 0; member_batch = 0 :: else fi;
  about.owner = token; about.batch = tried; about.has = v;
  about.shared = (shared -> token : 0)
}
/* Else Redis has gone on since the last try to withdraw the batch: the documented window. */
#define IN_TIME    (done || !shared || withdrawn || !went_on || PLANTED == 4)
#define LEASES_END patience = LEASE + 1; patience == 0

active proctype middlebox() {
  bit v; bit lost; bit done; bit withdrawn; bit shared; bit mine; bit failed;
  byte stored; byte tried; byte batches;
endless: /* It claims the store, and the rule is as there. If all is lost, a lease passes first. */
  atomic { !stands && batches < BATCHES && (about.owner || !(lease || asked)) ->
    batches++; token++; about.owner = token; stored = about.batch;
    shared = (about.shared != 0 && PLANTED != 6);
    tried = (tried > stored -> tried : stored); mine = about.has;
    if :: told && mine != (told == enabled) -> told = 0 :: else fi };
  {
    atomic { !stands -> note() };
endless_idle:
    do
    :: atomic { !stands && !shared && member && (!failed || PLANTED == 5) -> note() }
    :: atomic { batches < BATCHES -> batches++; told = 0; v = !mine; failed = 1; went_on = 0 };
       if
       :: atomic { !stands -> exec(); stored = tried; done = 1; failed = 0; shared = shared || member }
       :: atomic { stands -> if :: tried++ :: skip fi }
       :: atomic { FAULT(!stands); stands = 1; exec() }
       fi;
       if
       :: done -> patience = LEASE + 1;
          do
          :: atomic { !stands && PLANTED != 3 -> note();
               if :: CONFIRMED && !lost -> break :: else fi }
          :: atomic { patience == 0 || PLANTED == 3 -> break }
          :: atomic { stands && patience -> patience = LEASE + 1; done = 0 };
             patience == 0; break
          od
       :: !done && shared ->
          if
          :: atomic { !stands && PLANTED != 4 ->
               about.withdrawn_by = token; about.withdrawn = tried; withdrawn = 1 }
          :: stands || PLANTED == 4
          fi;
          LEASES_END
       :: !done && !shared
       fi;
       atomic {
         if
         :: v && !done
         :: else -> mine = v; if :: IN_TIME -> told = (v -> enabled : deleted) :: else fi
         fi;
         v = 0; done = 0; lost = 0; withdrawn = 0 }
    od
  } unless { killed };
  atomic {
    killed = 0; v = 0; done = 0; lost = 0; withdrawn = 0; shared = 0; stored = 0; failed = 0;
    patience = 0; mine = 0
  };
  goto endless
}

active proctype surroundings() {
endless:
  do
  :: atomic { FAULT(!killed); killed = 1 }
  :: atomic { FAULT(!stands); stands = 1 }
  :: atomic { FAULT(about.owner); about.owner = 0; about.batch = 0; about.has = 0; about.shared = 0;
       about.withdrawn_by = 0; about.withdrawn = 0; member = 0; member_batch = 0 }
  /* The documented window: what ended while it stood still may be open for a lease. */
  :: atomic { stands -> stands = 0; went_on = 1; if :: about.batch && told -> told = 0 :: else fi }
  od
}
