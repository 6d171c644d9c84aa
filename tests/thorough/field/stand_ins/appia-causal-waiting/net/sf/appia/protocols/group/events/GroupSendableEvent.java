package net.sf.appia.protocols.group.events;
import net.sf.appia.core.*;
import net.sf.appia.core.message.Message;
import net.sf.appia.protocols.group.*;
public class GroupSendableEvent extends Event {
    public int orig;
    private final Message message;
    public GroupSendableEvent(Channel c, int dir, Session s, Group g, ViewID v, Message m) { super(c, dir, s); message = m; }
    public Message getMessage() { return message; }
}
