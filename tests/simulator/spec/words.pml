/* The words of traces as numbers, which traces.py reads from here; 0 is "-". Steps, and the words
   that follow them: */
#define ask      1  /* slot agent request rule */
#define reply    2  /* slot - outcome rule */
#define made     3  /* - - kind rule: an ARE, as are changed and ended */
#define changed  4  /* - - kind rule */
#define ended    5  /* - - - rule */
#define stuck    6  /* - - - rule: the backend has refused to remove an ended rule */
#define pass     7  /* - - seconds - */
#define kill     8  /* - - - -: the process dies, and the next one recovers the rules */
#define found    9  /* - - kind rule: it has that one */
#define rest    10  /* - - - -: nothing is under way */
/* Agents. boss may see and change the rules of others. */
#define a        1
#define boss     2
/* Requests; `end` is a PLC with lifetime 0. */
#define per      1
#define prr      2
#define pea      3
#define plc      4
#define end      5
#define pdr      6
#define prs      7
/* Kinds of rules, which are positive replies to PRS, too; other outcomes. */
#define reserved 1
#define enabled  2
#define disabled 3
#define over     4
#define granted  5
#define no_such_rule  6  /* 0x0343 */
#define denied        7  /* 0x0345 */
#define inconsistent  8  /* 0x034B */
#define conflict      9  /* 0x0350: a disable rule blocks it */
#define failed       10  /* 0x034A: the backend has refused it */
