package net.sf.appia.core;
public class Event {
    public int dir;
    private final Channel channel;
    private Session at;
    public Event(Channel channel, int dir, Session source) { this.channel = channel; this.dir = dir; at = source; }
    public void go() throws AppiaEventException {
        int k = java.util.List.of(channel.sessions).indexOf(at) + (dir == Direction.UP ? 1 : -1);
        if (k < 0 || k == channel.sessions.length) return;
        at = channel.sessions[k];
        at.handle(this);
    }
}
