package net.sf.appia.protocols.group;
public record ViewID(long time, Endpt coordinator) {}
