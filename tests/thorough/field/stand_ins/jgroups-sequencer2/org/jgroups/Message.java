package org.jgroups;
public class Message {
    public final Address dest;
    public final byte[] text;
    public int number;
    public Message(Address dest, byte[] text) { this.dest = dest; this.text = text; }
    public Address getDest() { return dest; }
    public Address getSrc() { return null; }
    public void setSrc(Address source) {}
    public byte[] getArray() { return text; }
}
