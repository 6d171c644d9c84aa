package org.jgroups.stack;
import org.jgroups.*;
@SuppressWarnings("unchecked")
public class Protocol {
    protected Address local_addr;
    protected Protocol above, below;
    public <T extends Protocol> T addr(Address own) { local_addr = own; return (T) this; }
    public <T extends Protocol> T setUpProtocol(Protocol protocol) { above = protocol; return (T) this; }
    public <T extends Protocol> T setDownProtocol(Protocol protocol) { below = protocol; return (T) this; }
    public void start() {}
    public Object up(Message message) { return null; }
    public void up(org.jgroups.util.MessageBatch batch) {}
    public Object down(Event event) { return null; }
    public Object down(Message message) { return null; }
}
