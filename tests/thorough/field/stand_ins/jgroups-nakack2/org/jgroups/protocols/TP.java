package org.jgroups.protocols;
import org.jgroups.*;
public abstract class TP extends org.jgroups.stack.Protocol {
    public abstract boolean supportsMulticasting();
    public abstract void sendUnicast(PhysicalAddress to, java.nio.ByteBuffer data);
    protected abstract PhysicalAddress getPhysicalAddress();
    public org.jgroups.util.TimeScheduler getTimer() { return null; }
}
