package org.m_ld.clocks.vector;
import java.util.Map;
public record WireVectorClock<P>(P processId, Map<P, Long> vector) implements VectorClock<P> {
    public static <P> VectorClock<P> clock(P process, Map<P, Long> vector) { return new WireVectorClock<>(process, vector); }
}
