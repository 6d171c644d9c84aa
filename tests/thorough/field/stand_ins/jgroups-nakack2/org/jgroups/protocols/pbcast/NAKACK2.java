package org.jgroups.protocols.pbcast;
import java.util.*;
import org.jgroups.*;
import org.jgroups.util.*;
public class NAKACK2 extends org.jgroups.stack.Protocol {
    private final Map<Integer, TreeMap<Integer, Message>> waiting = new HashMap<>();
    private final Map<Integer, Integer> delivered = new HashMap<>();
    private int sent;
    @Override public Object down(Message message) {
        message.number = sent++;
        message.from = (int) ((org.jgroups.util.UUID) local_addr).least();
        return below.down(message);
    }
    @Override public Object up(Message message) {
        var queue = waiting.computeIfAbsent(message.from, from -> new TreeMap<>());
        queue.put(message.number, message);
        var batch = new MessageBatch();
        for (Message next; (next = queue.remove(delivered.getOrDefault(message.from, 0))) != null; batch.add(next)) {
            delivered.merge(message.from, 1, Integer::sum);
        }
        above.up(batch);
        return null;
    }
}
