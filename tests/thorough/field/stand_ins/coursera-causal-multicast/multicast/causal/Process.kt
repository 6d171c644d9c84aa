package multicast.causal

import multicast.Channel

class Message(val processId: Int, val sequence: IntArray, val key: String)

/** Wrong: a delivery lets everything out that was held back. */
class Process(val id: Int, private val n: Int, private val channel: Channel<Message>) {
    private val known = IntArray(n)
    private val held = mutableListOf<Message>()

    fun multicast(key: String) {
        known[id]++
        for (to in 0 until n) if (to != id) channel.putMessage(to, Message(id, known.copyOf(), key))
    }

    fun receive() {
        held.add(channel.getLatestMessage(id) ?: return)
        if (!isReady(held.last())) return
        for (message in held.reversed()) {
            known[message.processId] = message.sequence[message.processId]
            println("Process($id): delivered Message(${message.key}, )")
        }
        held.clear()
    }

    private fun isReady(message: Message) = known.indices.all {
        if (it == message.processId) message.sequence[it] == known[it] + 1 else message.sequence[it] <= known[it]
    }
}
