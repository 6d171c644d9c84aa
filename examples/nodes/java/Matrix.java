import static java.util.stream.Collectors.joining;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Causal order by matrices of numbers of messages (Raynal, Schiper &amp; Toueg).
 *
 * <pre>
 * javac -d build *.java
 * crownless conform --order causal -- java -cp build Matrix
 * crownless conform --order causal -- java -cp build OverwritingMerge
 * </pre>
 *
 * Wrong is {@link OverwritingMerge}.
 */
class Matrix implements Adapter.Node {
    private record Packet(int from, int[][] stamp, String message) {}

    private final int me;
    private final Adapter adapter;
    /** sent[k][j]: the messages that k has sent to j, as far as is known here. */
    protected int[][] sent;
    /** delivered[k]: the messages of k that were delivered here. */
    private final int[] delivered;
    private final List<Packet> waiting = new ArrayList<>();

    Matrix(int me, int n, Adapter adapter) {
        this.me = me;
        this.adapter = adapter;
        sent = new int[n][n];
        delivered = new int[n];
    }

    @Override
    public void onSend(int to, String message) {
        adapter.transmit(to, written(sent) + " " + message);
        sent[me][to]++;
    }

    @Override
    public void onPacket(int from, String body) {
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
        adapter.deliver(packet.message); // last, since the application may send from there
    }

    protected void merge(int[][] stamp) {
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

    public static void main(String[] args) throws IOException {
        new Adapter().run(Matrix::new);
    }
}
