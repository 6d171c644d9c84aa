package net.sf.appia.protocols.group;
public record Group(String name) {}
