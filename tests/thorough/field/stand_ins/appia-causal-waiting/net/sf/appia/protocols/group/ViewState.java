package net.sf.appia.protocols.group;
public class ViewState {
    public final Endpt[] view;
    public final Group group;
    public final ViewID id;
    public ViewState(String v, Group group, ViewID id, ViewID[] last, Endpt[] view, java.net.SocketAddress[] at) {
        this.view = view; this.group = group; this.id = id;
    }
}
