package net.sf.appia.core;
public class EventScheduler {
    public EventScheduler(Appia appia) {}
    public boolean consumeEvent() { return false; }
}
