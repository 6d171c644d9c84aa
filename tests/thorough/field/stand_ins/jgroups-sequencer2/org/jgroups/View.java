package org.jgroups;
public record View(Address creator, long id, java.util.List<Address> members) {}
