import static java.util.stream.Collectors.joining;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;

/**
 * Causal order by matrices of numbers of messages (Raynal, Schiper &amp; Toueg).
 *
 * <pre>
 * javac -d build Matrix.java
 * crownless conform --order causal -- java -cp build Adapter
 * crownless conform --order causal -- java -cp build -Doverwrite=true Adapter
 * </pre>
 *
 * Wrong is to overwrite: it takes over the matrix that has come, instead of the greater of both, number by number.
 */
final class Adapter {
    private record Packet(int from, int[][] stamp, String message) {}

    private final int me;
    /** sent[k][j]: the messages that k has sent to j, as far as is known here. */
    private int[][] sent;
    /** delivered[k]: the messages of k that were delivered here. */
    private final int[] delivered;
    private final List<Packet> waiting = new ArrayList<>();

    Adapter(int me, int n) {
        this.me = me;
        sent = new int[n][n];
        delivered = new int[n];
    }

    void onSend(int[] to, String message) {
        String body = written(sent) + " " + message;
        for (int j : to) {
            transmit(j, body);
            sent[me][j]++;
        }
    }

    void onPacket(int from, String body) {
        String[] parts = body.split(" ", 2);
        waiting.add(new Packet(from, read(parts[0]), parts[1]));
        Packet ready; // each delivery may let through another one
        while ((ready = waiting.stream().filter(this::isReady).findFirst().orElse(null)) != null) {
            waiting.remove(ready);
            take(ready);
        }
    }

    private boolean isReady(Packet packet) {
        for (int k = 0; k < delivered.length; k++) {
            if (packet.stamp[k][me] > delivered[k]) return false;
        }
        return true;
    }

    private void take(Packet packet) {
        delivered[packet.from]++;
        packet.stamp[packet.from][me]++; // it counts what came before the message, and now the message too
        merge(packet.stamp);
        deliver(packet.message); // last, since the application may send from there
    }

    private void merge(int[][] stamp) {
        if (Boolean.getBoolean("overwrite")) {
            sent = stamp;
            return;
        }
        for (int k = 0; k < sent.length; k++) {
            for (int j = 0; j < sent.length; j++) sent[k][j] = Math.max(sent[k][j], stamp[k][j]);
        }
    }

    /** Rows as {@code 0,1,0;0,0,0;2,0,0}. */
    private static String written(int[][] rows) {
        return Arrays.stream(rows)
                .map(row -> Arrays.stream(row).mapToObj(Integer::toString).collect(joining(",")))
                .collect(joining(";"));
    }

    private static int[][] read(String rows) {
        return Arrays.stream(rows.split(";"))
                .map(row -> Arrays.stream(row.split(",")).mapToInt(Integer::parseInt).toArray())
                .toArray(int[][]::new);
    }

    // ---- The lines that crownless reads and writes. Nothing below needs a change. ----

    private static final PrintStream answers = System.out; // where nothing else is printed

    private record Reply(int[] to, String message) {}

    /** What the application will send from inside deliveries. */
    private final Queue<Reply> replies = new ArrayDeque<>();

    void transmit(int to, String body) {
        answers.println("packet " + to + " " + body);
    }

    void deliver(String message) {
        answers.println("deliver " + message);
        Reply reply = replies.poll();
        if (reply != null) onSend(reply.to, reply.message);
    }

    private static int[] numbers(String words) {
        return Arrays.stream(words.split(",")).mapToInt(Integer::parseInt).toArray();
    }

    public static void main(String[] arguments) throws IOException {
        System.setOut(System.err);
        Adapter node = null;
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ", 3);
            switch (words[0]) {
                case "init" -> {
                    node = new Adapter(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
                    answers.println("ok replies");
                    continue;
                }
                case "reply" -> { // not an input yet, so that it has no answer
                    node.replies.add(new Reply(numbers(words[1]), words[2]));
                    continue;
                }
                case "send" -> node.onSend(numbers(words[1]), words[2]);
                case "packet" -> node.onPacket(Integer.parseInt(words[1]), words[2]);
                default -> throw new IllegalArgumentException("this adapter has nothing for " + line);
            }
            answers.println("ok");
        }
    }
}
