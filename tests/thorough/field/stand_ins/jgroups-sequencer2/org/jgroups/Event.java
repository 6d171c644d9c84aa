package org.jgroups;
public record Event(int type, View view) { public static final int VIEW_CHANGE = 6; }
