package org.jgroups.util;
import org.jgroups.Address;
public class MutableDigest {
    public MutableDigest(Address[] members) {}
    public MutableDigest set(Address member, long delivered, long received) { return this; }
}
