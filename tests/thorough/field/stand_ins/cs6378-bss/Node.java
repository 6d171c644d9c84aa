import java.util.*;

class Message {
    int from;
    int[] vectortimestamp;
    String content;
    Message(int from, int[] vectortimestamp, MessageType type, String content) {
        this.from = from; this.vectortimestamp = vectortimestamp; this.content = content;
    }
}
enum MessageType { BROADCAST }

class Node {
    private final int uid;
    private final int[] clock;
    private final List<Integer> ports = new ArrayList<>();
    private final List<Message> held = new ArrayList<>(), deliveredMessages = new ArrayList<>();

    Node(int uid, String host, int port, int n) { this.uid = uid; clock = new int[n]; createLogFile(); }
    public int getUID() { return uid; }
    public int[] getVectorClock() { return clock.clone(); }
    public void addNeighbor(int uid, String host, int port) { ports.add(port); }
    public void createLogFile() {}
    public void sendMessageTCP(Message message, String host, int port) {}
    private void updateClock(int process) { clock[process]++; }
    private void broadcastMessage(Message message) { for (int port : ports) sendMessageTCP(message, "", port); }
    private boolean covers(int[] other) {
        return java.util.stream.IntStream.range(0, clock.length).allMatch(k -> clock[k] >= other[k]);
    }
    public void addMessage(Message message) {
        held.add(message);
        for (int k = 0; k < held.size(); k++) {
            Message next = held.get(k);
            clock[next.from]++;
            if (covers(next.vectortimestamp)) { deliveredMessages.add(held.remove(k)); k = -1; } else clock[next.from]--;
        }
    }
}
