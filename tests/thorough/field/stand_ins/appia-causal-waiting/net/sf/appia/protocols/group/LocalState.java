package net.sf.appia.protocols.group;
public class LocalState {
    public final int my_rank;
    public LocalState(ViewState view, Endpt me) { my_rank = java.util.List.of(view.view).indexOf(me); }
}
