package net.sf.appia.protocols.group.intra;
import net.sf.appia.core.*;
import net.sf.appia.protocols.group.*;
public class View extends Event {
    public final ViewState vs;
    public final LocalState ls;
    public View(ViewState vs, LocalState ls, Channel c, int d, Session s) { super(c, d, s); this.vs = vs; this.ls = ls; }
}
