// Their Process delivers a buffered message before an earlier one of the same sender has arrived.
import multicast.Channel
import multicast.causal.Message
import multicast.causal.Process

fun main(args: Array<String>) {
    val channel = Channel<Message>(2)
    val sender = Process(0, 2, channel)
    val receiver = Process(1, 2, channel)
    for (key in listOf("m1", "m2", "m3")) sender.multicast(key)
    receiver.receive() // the latest, m3: buffered
    receiver.receiveOldest() // m1: delivered, and m3 too, with m2 still in the channel
}
