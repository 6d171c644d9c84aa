// Drives Node of PJAvinash/CS6378P1: addMessage on receiving, and the body of startBroadcasting on sending.
import java.io.*;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.List;

final class Adapter extends Node {
    private static final PrintStream answers = System.out;
    private final Method updateClock = Node.class.getDeclaredMethod("updateClock", int.class);
    private final Method broadcastMessage = Node.class.getDeclaredMethod("broadcastMessage", Message.class);
    private final List<?> delivered;

    private Adapter(int me, int n) throws ReflectiveOperationException {
        super(me, "", me, n);
        updateClock.setAccessible(true);
        broadcastMessage.setAccessible(true);
        Field messages = Node.class.getDeclaredField("deliveredMessages");
        messages.setAccessible(true);
        delivered = (List<?>) messages.get(this);
        for (int k = 0; k < n; k++) if (k != me) addNeighbor(k, "", k);
    }

    @Override public void createLogFile() {} // it would be written for every delivery

    @Override public void sendMessageTCP(Message message, String host, int port) {
        var body = new StringBuilder(message.content);
        for (int count : message.vectortimestamp) body.append(" ").append(count);
        answers.println("packet " + port + " " + body);
    }

    private void send(String message) throws ReflectiveOperationException {
        updateClock.invoke(this, getUID());
        broadcastMessage.invoke(this, new Message(getUID(), getVectorClock(), MessageType.BROADCAST, message));
    }

    private void receive(int from, String message, int[] timestamp) {
        int known = delivered.size();
        addMessage(new Message(from, timestamp, MessageType.BROADCAST, message));
        delivered.subList(known, delivered.size()).forEach(m -> answers.println("deliver " + ((Message) m).content));
    }

    public static void main(String[] args) throws Exception {
        System.setOut(System.err);
        Adapter node = null;
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null; answers.println("ok")) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "init" -> node = new Adapter(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
                case "send" -> node.send(words[2]);
                case "packet" -> {
                    int[] timestamp = new int[words.length - 3];
                    for (int k = 0; k < timestamp.length; k++) timestamp[k] = Integer.parseInt(words[k + 3]);
                    node.receive(Integer.parseInt(words[1]), words[2], timestamp);
                }
            }
        }
    }
}
