package net.sf.appia.core;
public class Session {
    public Session(Layer layer) {}
    public void handle(Event event) {}
}
