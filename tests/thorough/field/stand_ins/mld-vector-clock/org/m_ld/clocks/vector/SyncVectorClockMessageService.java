package org.m_ld.clocks.vector;
import java.util.*;
public class SyncVectorClockMessageService<P> implements org.m_ld.clocks.MessageService<VectorClock<P>> {
    private final P id;
    private final Map<P, Long> own = new HashMap<>();
    public SyncVectorClockMessageService(java.util.function.Supplier<P> id) { this.id = id.get(); }
    @Override public VectorClock<P> send() {
        own.merge(id, 1L, Long::sum);
        return WireVectorClock.clock(id, new HashMap<>(own));
    }
    @Override public boolean takes(VectorClock<P> time) {
        var next = new HashMap<>(own);
        next.merge(time.processId(), 1L, Long::sum);
        if (time.vector().entrySet().stream().anyMatch(e -> next.getOrDefault(e.getKey(), 0L) < e.getValue())) return false;
        own.putAll(next);
        return true;
    }
}
