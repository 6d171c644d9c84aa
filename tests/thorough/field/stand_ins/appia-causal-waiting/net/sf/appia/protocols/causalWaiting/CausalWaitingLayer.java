package net.sf.appia.protocols.causalWaiting;
import java.util.*;
import net.sf.appia.core.*;
import net.sf.appia.protocols.group.events.GroupSendableEvent;
import net.sf.appia.protocols.group.intra.View;
/** FIFO, which is causal for two processes. */
public class CausalWaitingLayer extends Layer {
    private final Map<Integer, TreeMap<Integer, GroupSendableEvent>> held = new HashMap<>();
    private final Map<Integer, Integer> delivered = new HashMap<>();
    private int sent;
    @Override public Session createSession() {
        return new Session(this) { @Override public void handle(Event event) { try { pass(event); } catch (Exception e) { throw new Error(e); } } };
    }
    private void pass(Event event) throws AppiaEventException {
        if (event instanceof View || event.dir == Direction.DOWN) {
            if (event instanceof GroupSendableEvent message) message.getMessage().pushString("" + sent++);
            event.go();
            return;
        }
        var message = (GroupSendableEvent) event;
        var queue = held.computeIfAbsent(message.orig, from -> new TreeMap<>());
        queue.put(Integer.parseInt(message.getMessage().popString()), message);
        GroupSendableEvent next;
        while ((next = queue.remove(delivered.getOrDefault(message.orig, 0))) != null) {
            delivered.merge(message.orig, 1, Integer::sum);
            next.go();
        }
    }
}
