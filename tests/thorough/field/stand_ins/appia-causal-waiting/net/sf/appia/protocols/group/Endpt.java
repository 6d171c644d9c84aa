package net.sf.appia.protocols.group;
public record Endpt(String name) {}
