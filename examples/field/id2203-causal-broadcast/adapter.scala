// Drives BasicBroadcast, EagerReliableBroadcast and WaitingCRB of distributed_systems_advanced_id2203, one above the other.
import java.io._
import scala.collection.mutable

// In the place of Kompics: events are handled one at a time, those of a node in the order triggered.
trait KompicsEvent extends Serializable
case class Init[C](values: Any*)
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
  val beb = new BasicBroadcast(Init(me, all)); val rb = new EagerReliableBroadcast(Init(me)); val crb = new WaitingCRB(Init(me, all))
  for ((a, b) <- Seq(bottom -> beb.pLink, beb.beb -> rb.beb, rb.rb -> crb.rb, crb.crb -> top)) { a.other = b; b.other = a }
  top uponEvent { case CRB_Deliver(_, Text(text)) => println("deliver " + text) }
  bottom uponEvent {
    case PL_Send(`me`, event) => Adapter.events += PL_Deliver(me, event) -> bottom
    case PL_Send(to, event) => val bytes = new ByteArrayOutputStream; new ObjectOutputStream(bytes).writeObject(event)
      println("packet " + to.process + " " + bytes.toByteArray.map("%02x" format _).mkString) }
}
object Adapter extends App {
  val events = mutable.Queue[(KompicsEvent, Port)]()
  var node: Adapter = null
  for (words <- io.Source.stdin.getLines.map(_.split(" "))) {
    if (words(0) == "init") node = new Adapter(Address(words(1).toInt), (0 until words(2).toInt).map(Address).toSet)
    if (words(0) == "send") events += CRB_Broadcast(Text(words(2))) -> node.top
    if (words(0) == "packet") { val in = new ByteArrayInputStream(words(2).grouped(2).map(Integer.parseInt(_, 16).toByte).toArray)
      events += PL_Deliver(Address(words(1).toInt), new ObjectInputStream(in).readObject.asInstanceOf[KompicsEvent]) -> node.bottom }
    while (events.nonEmpty) { val (event, port) = events.dequeue; port.other.handler.lift(event) }
    println("ok")
  }
}
