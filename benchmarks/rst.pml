/* The matrix protocol of Raynal, Schiper & Toueg under the free workload, for SPIN: `crownless check rst -n N -m M`.

   What it is. N processes; any may send to any other at any time while fewer than M sends have happened in all; the
   channels are unordered. One d_step is one send or one delivery, as in impl/rst.py, and nothing lies in between.
   Reachability alone: SPIN judges no property here, while our explorer decides all of them in the same search.

   How states correspond. One to one, the initial state included, so "states, stored" is our number of states. SPIN's
   "transitions" are one more than ours, since it counts the way to the initial state; its "depth reached" is ours.

   - left     sends that may still happen; it follows from SENT, as our count of the messages on each channel does
   - sent     SENT_i[k, l], without the diagonal: no process sends to itself, so that is always 0
   - deliv    DELIV_i[k], likewise
   - flight   the packets in flight, sorted by channel and number on the channel, so that equal sets are equal states:
              1 + the channel, or 0 where there is none; the number on the channel k → l is the stamp's [k, l]
   - stamp    what each of them carries, as in sent; 0 where there is no packet

   Channels are numbered by receiver: those into i are i * (N - 1) up to but without (i + 1) * (N - 1).

   Made for speed: bytes; no variable that is not needed; `hidden` ones, which are no part of a state, inside a d_step;
   loops over channels written out by the preprocessor.

   By hand (benchmarks/spin.py does the same):

       spin -a -DN=3 -DM=6 benchmarks/rst.pml
       gcc -O3 -DSAFETY -DNOREDUCE -DNOFAIR -DNOBOUNDCHECK -DNOCOMP -DVECTORSZ=512 -DMEMLIM=8000 -o pan pan.c
       ./pan -m100 -w20          # -w: about log2 of the number of states; 356137 here

   Without -DNOCOMP it takes a tenth less memory and a tenth to a third more time; -DCOLLAPSE takes twice the time.
*/

#ifndef N
#define N 3
#endif
#ifndef M
#define M 4
#endif
#if N < 2 || N > 4
#error "N is 2, 3 or 4"
#endif
#if M < 1 || M > 10
#error "M is 1 to 10"
#endif

#define CHANNELS (N * (N - 1))
#define CHANNEL(k, l) ((l) * (N - 1) + (k) - ((k) > (l)))
#define SENT(i, channel) sent[(i) * CHANNELS + (channel)]
#define STAMP(at, channel) stamp[(at) * CHANNELS + (channel)]

byte left = M;
byte sent[N * CHANNELS];
byte deliv[CHANNELS];
byte flight[M];
byte stamp[M * CHANNELS];

hidden byte at, end, c, i;

#if N == 2
#define EACH_CHANNEL(do_) do_(0); do_(1)
#elif N == 3
#define EACH_CHANNEL(do_) do_(0); do_(1); do_(2); do_(3); do_(4); do_(5)
#else
#define EACH_CHANNEL(do_) do_(0); do_(1); do_(2); do_(3); do_(4); do_(5); \
	do_(6); do_(7); do_(8); do_(9); do_(10); do_(11)
#endif

#define CARRY(x) STAMP(at, x) = SENT(k, x)
#define MOVE_UP(x) STAMP(end, x) = STAMP(end - 1, x)
#define MOVE_DOWN(x) STAMP(at, x) = STAMP(at + 1, x)
#define CLEAR(x) STAMP(at, x) = 0
#define TAKE_MAXIMUM(x) SENT(i, x) = (STAMP(at, x) > SENT(i, x) -> STAMP(at, x) : SENT(i, x))

/* Attach the current SENT_k, then increment SENT_k[k, l]. Packets on later channels make place. */
inline send(k, channel)
{
	left--;
	at = 0;
	do :: flight[at] != 0 && flight[at] <= channel + 1 -> at++ :: else -> break od;
	end = at;
	do :: flight[end] != 0 -> end++ :: else -> break od;
	do
	:: end > at -> flight[end] = flight[end - 1]; EACH_CHANNEL(MOVE_UP); end--
	:: else -> break
	od;
	flight[at] = channel + 1;
	EACH_CHANNEL(CARRY);
	SENT(k, channel)++
}

/* Increment DELIV_i[j]; increment SENT_i[j, i]; take the maximum of SENT_i and the stamp. Later packets close up. */
inline deliver(which)
{
	at = which;
	c = flight[at] - 1;
	i = c / (N - 1);
	deliv[c]++;
	SENT(i, c)++;
	EACH_CHANNEL(TAKE_MAXIMUM);
	do
	:: at < M - 1 && flight[at + 1] != 0 -> flight[at] = flight[at + 1]; EACH_CHANNEL(MOVE_DOWN); at++
	:: else -> break
	od;
	flight[at] = 0;
	EACH_CHANNEL(CLEAR)
}

/* For all k: DELIV_i[k] >= stamp[k, i]; the channels into i begin with FIRST. */
#define FIRST(which) ((flight[which] - 1) / (N - 1) * (N - 1))
#define KNOWN(which, x) (deliv[FIRST(which) + x] >= STAMP(which, FIRST(which) + x))
#if N == 2
#define ACCEPTED(which) KNOWN(which, 0)
#elif N == 3
#define ACCEPTED(which) KNOWN(which, 0) && KNOWN(which, 1)
#else
#define ACCEPTED(which) KNOWN(which, 0) && KNOWN(which, 1) && KNOWN(which, 2)
#endif

#define SEND(k, l) :: d_step { left > 0 -> send(k, CHANNEL(k, l)) }
#define DELIVER(which) :: d_step { flight[which] != 0 && ACCEPTED(which) -> deliver(which) }

active proctype system()
{
end_here:
	do
	SEND(0, 1)
	SEND(1, 0)
#if N > 2
	SEND(0, 2)
	SEND(2, 0)
	SEND(1, 2)
	SEND(2, 1)
#endif
#if N > 3
	SEND(0, 3)
	SEND(3, 0)
	SEND(1, 3)
	SEND(3, 1)
	SEND(2, 3)
	SEND(3, 2)
#endif
	DELIVER(0)
#if M > 1
	DELIVER(1)
#endif
#if M > 2
	DELIVER(2)
#endif
#if M > 3
	DELIVER(3)
#endif
#if M > 4
	DELIVER(4)
#endif
#if M > 5
	DELIVER(5)
#endif
#if M > 6
	DELIVER(6)
#endif
#if M > 7
	DELIVER(7)
#endif
#if M > 8
	DELIVER(8)
#endif
#if M > 9
	DELIVER(9)
#endif
	od
}
