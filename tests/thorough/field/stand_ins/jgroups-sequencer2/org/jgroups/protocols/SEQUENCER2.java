package org.jgroups.protocols;
import org.jgroups.*;
/** Messages go through the first member, which numbers them from 1. */
public class SEQUENCER2 extends org.jgroups.stack.Protocol {
    private final java.util.TreeMap<Integer, Message> waiting = new java.util.TreeMap<>();
    private Address coordinator;
    private int numbered, delivered;
    @Override public Object up(Event event) { return coordinator = event.view().creator(); }
    @Override public Object down(Message message) { return below.down(new Message(coordinator, message.text)); }
    @Override public Object up(Message message) {
        if (message.number == 0) { message.number = ++numbered; return below.down(message); }
        waiting.put(message.number, message);
        var batch = new org.jgroups.util.MessageBatch();
        for (Message next; (next = waiting.remove(delivered + 1)) != null; delivered++) batch.add(next);
        above.up(batch);
        return null;
    }
}
