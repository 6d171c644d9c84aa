// Drives multicast.fifo.Process, with its Channel, of akhalikov/coursera-cloud-computing.
import java.io.FileDescriptor
import java.io.FileOutputStream
import java.io.OutputStream
import java.io.PrintStream
import multicast.Channel
import multicast.fifo.Message
import multicast.fifo.Process

val answers = PrintStream(FileOutputStream(FileDescriptor.out), true)

/** Their log, in which a delivery is the line `Process(ID): delivered Message(KEY, from ...`. */
class Log : OutputStream() {
    private val line = StringBuilder()

    override fun write(byte: Int) {
        if (byte.toChar() != '\n') { line.append(byte.toChar()); return }
        Regex("delivered Message\\(([^,]*),").find(line)?.let { answers.println("deliver " + it.groupValues[1]) }
        line.setLength(0)
    }
}

fun main(args: Array<String>) {
    System.setOut(PrintStream(Log(), true))
    var me = 0
    var n = 0
    var channel = Channel<Message>(0)
    var process = Process(0, 0, channel)
    while (true) {
        val words = (readLine() ?: return).split(" ")
        when (words[0]) {
            "init" -> {
                me = words[1].toInt()
                n = words[2].toInt()
                channel = Channel(n)
                process = Process(me, n, channel)
            }
            "send" -> {
                process.multicast(words[2])
                for (to in 0 until n) {
                    val message = channel.getOldestMessage(to) ?: continue
                    answers.println("packet $to ${message.key} ${message.sequenceId}")
                }
            }
            "packet" -> {
                channel.putMessage(me, Message(words[1].toInt(), words[3].toInt(), words[2]))
                process.receive()
            }
        }
        answers.println("ok")
    }
}
