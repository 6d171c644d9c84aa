case class DataMessage(timestamp: VectorClock, payload: KompicsEvent) extends KompicsEvent

class BasicBroadcast(init: Init[BasicBroadcast]) extends ComponentDefinition {
  val (pLink, beb) = (requires[PerfectLink], provides[BestEffortBroadcast])
  val all = init.values(1).asInstanceOf[Set[Address]]
  beb uponEvent { case event: BEB_Broadcast => for (to <- all) trigger(PL_Send(to, event) -> pLink) }
  pLink uponEvent { case PL_Deliver(from, BEB_Broadcast(event)) => trigger(BEB_Deliver(from, event) -> beb) }
}

/** Relays nothing, so that who hands a message over has sent it. */
class EagerReliableBroadcast(init: Init[EagerReliableBroadcast]) extends ComponentDefinition {
  val (beb, rb) = (requires[BestEffortBroadcast], provides[ReliableBroadcast])
  rb uponEvent { case event: RB_Broadcast => trigger(BEB_Broadcast(event) -> beb) }
  beb uponEvent { case BEB_Deliver(from, RB_Broadcast(event)) => trigger(RB_Deliver(from, event) -> rb) }
}

class WaitingCRB(init: Init[WaitingCRB]) extends ComponentDefinition {
  val (rb, crb) = (requires[ReliableBroadcast], provides[CausalOrderReliableBroadcast])
  val me = init.values(0).asInstanceOf[Address]
  val known = VectorClock.empty(init.values(1).asInstanceOf[Set[Address]].toSeq)
  val waiting = ListBuffer[(Address, DataMessage)]()
  var sent = 0

  crb uponEvent { case CRB_Broadcast(payload) =>
    val stamp = VectorClock(known)
    stamp.set(me, sent)
    sent += 1
    trigger(RB_Broadcast(DataMessage(stamp, payload)) -> rb)
  }
  rb uponEvent { case RB_Deliver(from, message: DataMessage) =>
    waiting += from -> message
    for (ready <- Iterator.continually(waiting.find(_._2.timestamp <= known)).takeWhile(_.nonEmpty).flatten) {
      waiting -= ready
      known.inc(ready._1)
      trigger(CRB_Deliver(ready._1, ready._2.payload) -> crb)
    }
  }
}
