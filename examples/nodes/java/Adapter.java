import static java.lang.Integer.parseInt;
import java.io.*;
import java.util.*;

/** Any node as a program that speaks lines: its main calls {@code new Adapter().run(MyNode::new)}. */
final class Adapter {
    interface Node {
        void onSend(int to, String message);
        void onPacket(int from, String body);
    }
    interface Start { Node node(int me, int n, Adapter adapter); }
    private record Reply(int to, String message) {}

    private final Queue<Reply> replies = new ArrayDeque<>();
    private Node node;

    void transmit(int to, String body) { System.out.println("packet " + to + " " + body); }
    void deliver(String message) {
        System.out.println("deliver " + message);
        Reply reply = replies.poll();
        if (reply != null) node.onSend(reply.to, reply.message);
    }
    void run(Start start) throws IOException {
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ", 3);
            switch (words[0]) {
                case "init" -> {
                    replies.clear();
                    node = start.node(parseInt(words[1]), parseInt(words[2]), this);
                    System.out.println("ok replies"); continue; // it knows the word `reply`
                }
                case "send" -> node.onSend(parseInt(words[1]), words[2]);
                case "packet" -> node.onPacket(parseInt(words[1]), words[2]);
                case "reply" -> { replies.add(new Reply(parseInt(words[1]), words[2])); continue; } // no input
            }
            System.out.println("ok");
        }
    }
}
