package org.m_ld.clocks.vector;
public interface VectorClock<P> { P processId(); java.util.Map<P, Long> vector(); }
