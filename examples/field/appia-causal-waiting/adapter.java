// Drives CausalWaitingSession of Appia in a channel of Appia, between a layer above and one below that are ours.
import static java.lang.Integer.parseInt;
import java.util.*;
import java.util.stream.IntStream;
import net.sf.appia.core.*;
import net.sf.appia.core.message.Message;
import net.sf.appia.protocols.causalWaiting.CausalWaitingLayer;
import net.sf.appia.protocols.group.*;
import net.sf.appia.protocols.group.events.GroupSendableEvent;
import net.sf.appia.protocols.group.intra.View;
import net.sf.appia.protocols.group.sync.BlockOk;

final class Adapter extends Appia {
    private static int me;
    private final EventScheduler scheduler = new EventScheduler(this);
    private final Ours above = new Ours(), below = new Ours();
    private final Channel channel;
    private final ViewState view;
    private final class Ours extends Layer {
        private final Session session = new Session(this) {
            @Override public void handle(Event e) { if (e instanceof GroupSendableEvent g) pass(g.getMessage()); }
        };
        private Ours() { evAccept = evProvide = new Class[] {GroupSendableEvent.class, View.class, BlockOk.class}; }
        @Override public Session createSession() { return session; }
        private void pass(Message message) {
            if (this == above) { System.out.println("deliver " + message.popString()); return; }
            String body = HexFormat.of().formatHex(message.toByteArray());
            for (int k = 0; k < view.view.length; k++) if (k != me) System.out.println("packet " + k + " " + body);
        }
        private void send(int direction, int from, Message message) throws AppiaEventException {
            var event = new GroupSendableEvent(channel, direction, session, view.group, view.id, message);
            event.orig = from;
            event.go();
        }
    }
    private Adapter(int n) throws Exception {
        thread = Thread.currentThread(); // as the loop of Appia does
        channel = new QoS("", new Layer[] {below, new CausalWaitingLayer(), above}).createUnboundChannel("", scheduler);
        channel.start();
        Endpt[] members = IntStream.range(0, n).mapToObj(k -> new Endpt("P" + k)).toArray(Endpt[]::new);
        var addresses = new java.net.InetSocketAddress[n];
        view = new ViewState("", new Group(""), new ViewID(0, members[0]), new ViewID[0], members, addresses);
        new View(view, new LocalState(view, members[me]), channel, Direction.UP, below.session).go();
    }
    public static void main(String[] args) throws Exception {
        Adapter it = null;
        for (var input = new Scanner(System.in); input.hasNextLine(); System.out.println("ok")) {
            String[] words = input.nextLine().split(" ");
            byte[] body = words[0].equals("packet") ? HexFormat.of().parseHex(words[2]) : new byte[0];
            var message = new Message(body, 0, body.length);
            switch (words[0]) {
                case "init" -> { me = parseInt(words[1]); it = new Adapter(parseInt(words[2])); }
                case "send" -> { message.pushString(words[2]); it.above.send(Direction.DOWN, me, message); }
                case "packet" -> it.below.send(Direction.UP, parseInt(words[1]), message);
            }
            while (it.scheduler.consumeEvent()) {}
        }
    }
}
