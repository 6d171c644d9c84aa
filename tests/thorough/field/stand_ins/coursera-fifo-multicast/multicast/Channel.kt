package multicast

class Channel<T>(processes: Int) {
    private val queues = List(processes) { mutableListOf<T>() }
    fun putMessage(to: Int, message: T) { queues[to].add(message) }
    fun getOldestMessage(of: Int): T? = if (queues[of].isEmpty()) null else queues[of].removeAt(0)
    fun getLatestMessage(of: Int): T? = if (queues[of].isEmpty()) null else queues[of].removeAt(queues[of].size - 1)
}
