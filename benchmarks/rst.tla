-------------------------------- MODULE rst --------------------------------
(* The matrix protocol of Raynal, Schiper & Toueg under the free workload, for TLC: what benchmarks/rst.pml is for SPIN.
   One action is one send or one delivery, as in impl/rst.py; states correspond one to one, and nothing is judged.
   A packet's number on its channel is its stamp's [source][destination]. `left` follows from SENT.

   By hand (benchmarks/native_engine.py --tlc does the same), with `CONSTANTS N = 3 M = 6` and `INIT Init NEXT Next` in
   rst.cfg:  java -XX:+UseParallelGC -cp tla2tools.jar tlc2.TLC -workers 1 -deadlock rst *)
EXTENDS Naturals

CONSTANTS N, M

VARIABLES sent, deliv, flight, left

Processes == 1..N

Max(a, b) == IF a > b THEN a ELSE b

Init ==
  /\ sent = [i \in Processes |-> [k \in Processes |-> [l \in Processes |-> 0]]]
  /\ deliv = [i \in Processes |-> [k \in Processes |-> 0]]
  /\ flight = {}
  /\ left = M

Send(i, j) ==
  /\ left > 0
  /\ left' = left - 1
  /\ flight' = flight \cup {[source |-> i, destination |-> j, stamp |-> sent[i]]}
  /\ sent' = [sent EXCEPT ![i][i][j] = @ + 1]
  /\ UNCHANGED deliv

Deliver(packet) ==
  LET i == packet.destination
      j == packet.source
      incremented == [sent[i] EXCEPT ![j][i] = @ + 1]
  IN  /\ \A k \in Processes : deliv[i][k] >= packet.stamp[k][i]
      /\ deliv' = [deliv EXCEPT ![i][j] = @ + 1]
      /\ sent' = [sent EXCEPT ![i] = [k \in Processes |-> [l \in Processes |-> Max(incremented[k][l], packet.stamp[k][l])]]]
      /\ flight' = flight \ {packet}
      /\ UNCHANGED left

Next ==
  \/ \E i \in Processes : \E j \in Processes \ {i} : Send(i, j)
  \/ \E packet \in flight : Deliver(packet)
=============================================================================
