package org.m_ld.clocks;
public interface MessageService<C> { C send(); boolean takes(C time); }
