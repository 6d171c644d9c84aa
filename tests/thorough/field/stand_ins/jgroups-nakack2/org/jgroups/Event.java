package org.jgroups;
public record Event(int type, Object argument) {
    public static final int VIEW_CHANGE = 6, BECOME_SERVER = 16, SET_DIGEST = 42;
    public Event(int type) { this(type, null); }
}
