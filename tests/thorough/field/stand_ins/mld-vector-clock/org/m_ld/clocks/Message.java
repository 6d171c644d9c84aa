package org.m_ld.clocks;
public record Message<C, D>(C time, D data) {
    public static <C, D> Message<C, D> message(C time, D data) { return new Message<>(time, data); }
}
