package org.example;
import org.m_ld.clocks.*;
public abstract class CausalCrdtProcess<C, O> {
    private final MessageService<C> service;
    private final java.util.List<Message<C, O>> waiting = new java.util.ArrayList<>();
    public CausalCrdtProcess(MessageService<C> service) { this.service = service; }
    protected abstract void merge(O operation);
    protected Message<C, O> updated(O operation) { return Message.message(service.send(), operation); }
    public void receive(Message<C, O> message) {
        waiting.add(message);
        for (int k = 0; k < waiting.size(); k++) {
            if (service.takes(waiting.get(k).time())) { merge(waiting.remove(k).data()); k = -1; }
        }
    }
}
