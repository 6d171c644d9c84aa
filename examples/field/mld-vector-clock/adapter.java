// Drives org.example.CausalCrdtProcess over SyncVectorClockMessageService of m-ld's clocks.
import static java.lang.Integer.parseInt;

import java.io.*;
import java.util.*;
import org.example.CausalCrdtProcess;
import org.m_ld.clocks.Message;
import org.m_ld.clocks.vector.*;

final class Adapter extends CausalCrdtProcess<VectorClock<Integer>, String> {
    private static final Queue<String> replies = new ArrayDeque<>();
    private static int me, n;

    private Adapter() {
        super(new SyncVectorClockMessageService<>(() -> me));
    }

    private void send(String message) {
        Message<VectorClock<Integer>, String> sent = updated(message);
        var body = new StringBuilder();
        new TreeMap<>(sent.time().vector()).forEach((process, ticks) -> body.append(process + " " + ticks + " "));
        for (int to = 0; to < n; to++) if (to != me) System.out.println("packet " + to + " " + body + message);
    }

    @Override protected void merge(String message) {
        System.out.println("deliver " + message);
        if (!replies.isEmpty()) send(replies.poll());
    }

    public static void main(String[] args) {
        Adapter process = null;
        for (String line : (Iterable<String>) new BufferedReader(new InputStreamReader(System.in)).lines()::iterator) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "init" -> {
                    replies.clear(); me = parseInt(words[1]); n = parseInt(words[2]); process = new Adapter();
                }
                case "send" -> process.send(words[2]);
                case "packet" -> {
                    Map<Integer, Long> vector = new HashMap<>();
                    for (int k = 2; k < words.length - 1; k += 2) {
                        vector.put(parseInt(words[k]), Long.parseLong(words[k + 1]));
                    }
                    var time = WireVectorClock.clock(parseInt(words[1]), vector);
                    process.receive(Message.message(time, words[words.length - 1]));
                }
                case "reply" -> replies.add(words[2]);
            }
            if (!words[0].equals("reply")) System.out.println(words[0].equals("init") ? "ok replies" : "ok");
        }
    }
}
