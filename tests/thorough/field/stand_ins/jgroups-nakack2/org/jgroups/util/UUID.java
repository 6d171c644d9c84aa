package org.jgroups.util;
public record UUID(long most, long least) implements org.jgroups.Address {}
