package multicast.fifo

import multicast.Channel

class Message(val processId: Int, val sequenceId: Int, val key: String)

/** Wrong: a delivery lets everything out that was held back. */
class Process(val id: Int, private val n: Int, private val channel: Channel<Message>) {
    private val known = IntArray(n)
    private val held = mutableListOf<Message>()

    fun multicast(key: String) {
        known[id]++
        for (to in 0 until n) if (to != id) channel.putMessage(to, Message(id, known[id], key))
    }

    fun receive() {
        held.add(channel.getLatestMessage(id) ?: return)
        if (held.last().sequenceId != known[held.last().processId] + 1) return
        for (message in held.reversed()) {
            known[message.processId] = message.sequenceId
            println("Process($id): delivered Message(${message.key}, )")
        }
        held.clear()
    }
}
