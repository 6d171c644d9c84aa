// Their reliable broadcast takes a relayed message for one of the relay; WaitingCRB then holds back the next of its sender.
object Reproduce extends App {
  val (p1, p2, p3) = (Address(0), Address(1), Address(2))
  val rb = new EagerReliableBroadcast(Init(p3))
  val crb = new WaitingCRB(Init(p3, Set(p1, p2, p3)))
  def stamp(ofP1: Int) = VectorClock(Map(p1 -> ofP1, p2 -> 0, p3 -> 0))
  def arrives(from: Address, message: DataMessage) {
    rb.beb.handler(BEB_Deliver(from, RB_Broadcast(message)))
    for ((event: RB_Deliver, _) <- Adapter.events) crb.rb.handler(event)
    Adapter.events.clear()
  }
  Adapter.main(Array())
  arrives(p2, DataMessage(stamp(0), Text("m1"))) // of P1, relayed by P2
  arrives(p1, DataMessage(stamp(1), Text("m2"))) // of P1, from P1
  println("P3 counts " + crb.vec.counts + " and holds back " + crb.pending.map(_._2.payload))
}
