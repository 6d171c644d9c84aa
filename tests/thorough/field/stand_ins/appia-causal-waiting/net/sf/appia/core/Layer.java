package net.sf.appia.core;
public class Layer {
    protected Class<?>[] evAccept, evProvide;
    public Session createSession() { return null; }
}
