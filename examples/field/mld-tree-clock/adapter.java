// Drives org.example.CausalCrdtProcess over org.m_ld.clocks.tree.TreeClockMessageService of m-ld's clocks.
import static java.lang.Integer.parseInt;

import java.io.*;
import java.util.*;
import org.example.CausalCrdtProcess;
import org.m_ld.clocks.Message;
import org.m_ld.clocks.tree.TreeClock;
import org.m_ld.clocks.tree.TreeClockMessageService;

final class Adapter extends CausalCrdtProcess<TreeClock, String> {
    private static final Queue<String> replies = new ArrayDeque<>();
    private static int me, n;

    private Adapter(TreeClock clock) {
        super(new TreeClockMessageService(clock));
    }

    /** As their tests do: every process gets the right half of what is left of the first clock. */
    private static TreeClock forked() {
        TreeClock.Fork fork = TreeClock.GENESIS.fork();
        for (int k = 0; k < me; k++) fork = fork.left.fork();
        return fork.right;
    }

    private void send(String message) throws IOException {
        Message<TreeClock, String> sent = updated(message);
        var bytes = new ByteArrayOutputStream();
        try (var out = new ObjectOutputStream(bytes)) { out.writeObject(sent.time()); }
        String body = Base64.getEncoder().encodeToString(bytes.toByteArray()) + " " + sent.data();
        for (int to = 0; to < n; to++) if (to != me) System.out.println("packet " + to + " " + body);
    }

    @Override protected void merge(String message) {
        System.out.println("deliver " + message);
        try {
            if (!replies.isEmpty()) send(replies.poll());
        } catch (IOException error) { throw new UncheckedIOException(error); }
    }

    public static void main(String[] args) throws Exception {
        Adapter process = null;
        for (String line : (Iterable<String>) new BufferedReader(new InputStreamReader(System.in)).lines()::iterator) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "init" -> {
                    replies.clear(); me = parseInt(words[1]); n = parseInt(words[2]); process = new Adapter(forked());
                }
                case "send" -> process.send(words[2]);
                case "packet" -> {
                    var in = new ObjectInputStream(new ByteArrayInputStream(Base64.getDecoder().decode(words[2])));
                    process.receive(Message.message((TreeClock) in.readObject(), words[3]));
                }
                case "reply" -> replies.add(words[2]);
            }
            if (!words[0].equals("reply")) System.out.println(words[0].equals("init") ? "ok replies" : "ok");
        }
    }
}
