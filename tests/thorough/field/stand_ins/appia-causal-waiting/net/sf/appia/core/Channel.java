package net.sf.appia.core;
public class Channel {
    final Session[] sessions;
    Channel(Session[] sessions) { this.sessions = sessions; }
    public void start() {}
}
