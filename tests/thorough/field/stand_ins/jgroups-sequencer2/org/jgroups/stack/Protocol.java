package org.jgroups.stack;
import org.jgroups.*;
public class Protocol {
    protected Address address;
    protected Protocol above, below;
    public Protocol addr(Address own) { address = own; return this; }
    public Address getAddress() { return address; }
    public Protocol setUpProtocol(Protocol protocol) { above = protocol; return this; }
    public Protocol setDownProtocol(Protocol protocol) { below = protocol; return this; }
    public void start() {}
    public Object up(Event event) { return null; }
    public Object up(Message message) { return null; }
    public void up(org.jgroups.util.MessageBatch batch) {}
    public Object down(Message message) { return null; }
}
