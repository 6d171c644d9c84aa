package org.jgroups;
public class Message {
    public final Address dest;
    public final byte[] text;
    public int number, from;
    public Message(Address dest, byte[] text) { this.dest = dest; this.text = text; }
    public Address getDest() { return dest; }
    public Address getSrc() { return null; }
    public Message setSrc(Address source) { return this; }
    public byte[] getArray() { return text; }
}
