// Drives WaitingCRB over EagerReliableBroadcast over BasicBroadcast of distributed_systems_advanced_id2203.
import scala.collection.mutable

// In the place of Kompics: events are handled one at a time, those of a node in the order triggered.
trait KompicsEvent; case class Init[C](values: Any*)
class Port { var handler: PartialFunction[KompicsEvent, Unit] = PartialFunction.empty; var other: Port = this
  def uponEvent(handler: PartialFunction[KompicsEvent, Unit]) { this.handler = handler } }
class ComponentDefinition { type ListBuffer[A] = mutable.ListBuffer[A]; val ListBuffer = mutable.ListBuffer
  def requires[P] = new Port; def provides[P] = new Port
  def trigger(event: (KompicsEvent, Port)) { Adapter.events += event } }

// What the course hands out: addresses, vector clocks, ports and their events.
case class Address(process: Int)
case class VectorClock(var counts: Map[Address, Int]) {
  def inc(at: Address) { counts += at -> (counts(at) + 1) }
  def set(at: Address, count: Int) { counts += at -> count }
  def <=(other: VectorClock) = counts.forall { case (at, count) => count <= other.counts(at) } }
object VectorClock { def empty(all: Seq[Address]) = VectorClock(all.map(_ -> 0).toMap)
  def apply(clock: VectorClock): VectorClock = VectorClock(clock.counts) }
trait PerfectLink; trait BestEffortBroadcast; trait ReliableBroadcast; trait CausalOrderReliableBroadcast
case class PL_Send(to: Address, event: KompicsEvent) extends KompicsEvent
case class PL_Deliver(from: Address, event: KompicsEvent) extends KompicsEvent
case class BEB_Broadcast(event: KompicsEvent) extends KompicsEvent
case class BEB_Deliver(from: Address, event: KompicsEvent) extends KompicsEvent
case class RB_Broadcast(event: KompicsEvent) extends KompicsEvent
case class RB_Deliver(from: Address, event: KompicsEvent) extends KompicsEvent
case class CRB_Broadcast(payload: KompicsEvent) extends KompicsEvent
case class CRB_Deliver(from: Address, payload: KompicsEvent) extends KompicsEvent
case class Text(text: String) extends KompicsEvent

class Adapter(val me: Address, all: Set[Address]) {
  val (top, bottom) = (new Port, new Port)
  val (beb, rb) = (new BasicBroadcast(Init(me, all)), new EagerReliableBroadcast(Init(me)))
  val crb = new WaitingCRB(Init(me, all))
  for ((one, two) <- Seq(bottom -> beb.pLink, beb.beb -> rb.beb, rb.rb -> crb.rb, crb.crb -> top)) {
    one.other = two; two.other = one
  }
  top uponEvent { case CRB_Deliver(_, Text(text)) => println("deliver " + text) }
  bottom uponEvent {
    case PL_Send(`me`, event) => Adapter.events += PL_Deliver(me, event) -> bottom
    case PL_Send(to, BEB_Broadcast(RB_Broadcast(DataMessage(clock, Text(text))))) =>
      println(s"packet ${to.process} $text " + (0 until all.size).map(k => clock.counts(Address(k))).mkString(" "))
  }
}
object Adapter extends App {
  val events = mutable.Queue[(KompicsEvent, Port)]()
  var node: Adapter = _
  for (words <- io.Source.stdin.getLines.map(_.split(" "))) {
    if (words(0) == "init") node = new Adapter(Address(words(1).toInt), (0 until words(2).toInt).map(Address).toSet)
    if (words(0) == "send") events += CRB_Broadcast(Text(words(2))) -> node.top
    if (words(0) == "packet") {
      val clock = VectorClock(words.drop(3).zipWithIndex.map { case (count, k) => Address(k) -> count.toInt }.toMap)
      val event = BEB_Broadcast(RB_Broadcast(DataMessage(clock, Text(words(2)))))
      events += PL_Deliver(Address(words(1).toInt), event) -> node.bottom
    }
    while (events.nonEmpty) { val (event, port) = events.dequeue; port.other.handler.lift(event) }
    println("ok")
  }
}
