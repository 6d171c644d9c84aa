package net.sf.appia.core;
public class QoS {
    private final Layer[] layers;
    public QoS(String id, Layer[] layers) { this.layers = layers; }
    public Channel createUnboundChannel(String id, EventScheduler scheduler) {
        return new Channel(java.util.Arrays.stream(layers).map(Layer::createSession).toArray(Session[]::new));
    }
}
