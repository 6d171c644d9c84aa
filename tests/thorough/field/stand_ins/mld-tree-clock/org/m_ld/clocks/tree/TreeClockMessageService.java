package org.m_ld.clocks.tree;
import java.util.HashMap;
public record TreeClockMessageService(TreeClock own) implements org.m_ld.clocks.MessageService<TreeClock> {
    @Override public TreeClock send() {
        own.sent().merge(own.id(), 1L, Long::sum);
        return new TreeClock(own.id(), new HashMap<>(own.sent()));
    }
    @Override public boolean takes(TreeClock time) {
        var next = new HashMap<>(own.sent());
        next.merge(time.id(), 1L, Long::sum);
        if (time.sent().entrySet().stream().anyMatch(e -> next.getOrDefault(e.getKey(), 0L) < e.getValue())) return false;
        own.sent().putAll(next);
        return true;
    }
}
