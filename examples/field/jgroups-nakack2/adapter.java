// Drives org.jgroups.protocols.pbcast.NAKACK2, as JGroups' NAKACK_Delivery_Test does, between two protocols of ours.
import static java.lang.Integer.parseInt;
import static java.lang.reflect.Proxy.newProxyInstance;
import static java.nio.charset.StandardCharsets.UTF_8;
import java.util.*;
import org.jgroups.*;
import org.jgroups.protocols.*;
import org.jgroups.protocols.pbcast.NAKACK2;
import org.jgroups.util.*;

final class Adapter {
    private static final List<Address> all = new ArrayList<>();
    /** In the place of the channel and the application. */
    private static final class Above extends org.jgroups.stack.Protocol {
        @Override public void up(MessageBatch batch) {
            for (Message message : batch) System.out.println("deliver " + new String(message.getArray(), UTF_8));
        }
    }
    /** In the place of the transport; a multicast goes to its sender too. The timer of retransmissions never rings. */
    private static final class Below extends TP {
        @Override public boolean supportsMulticasting() { return false; }
        @Override public void sendUnicast(PhysicalAddress to, java.nio.ByteBuffer data) {}
        @Override protected PhysicalAddress getPhysicalAddress() { return null; }
        @Override public TimeScheduler getTimer() {
            var timer = new Class<?>[] {TimeScheduler.class};
            return (TimeScheduler) newProxyInstance(TP.class.getClassLoader(), timer, (t, call, with) -> null);
        }
        @Override public Object down(Event event) { return null; }
        @Override public Object down(Message message) { try {
                var bytes = Util.messageToBuffer(message.getSrc() == null ? message.setSrc(local_addr) : message);
                String body = HexFormat.of().formatHex(bytes.getArray(), 0, bytes.getLength());
                var to = message.getDest() == null ? all : List.of(message.getDest());
                to.forEach(member -> System.out.println("packet " + all.indexOf(member) + " " + body));
            return null;
        } catch (Exception error) { throw new IllegalStateException(error); } }
    }
    public static void main(String[] args) throws Exception {
        NAKACK2 nakack = null;
        for (var input = new Scanner(System.in); input.hasNextLine(); System.out.println("ok")) {
            String[] words = input.nextLine().split(" ");
            byte[] body = words[0].equals("packet") ? HexFormat.of().parseHex(words[2]) : words[2].getBytes(UTF_8);
            if (words[0].equals("init")) {
                all.clear();
                for (int k = 1; k <= parseInt(words[2]); k++) all.add(new org.jgroups.util.UUID(0, k));
                Address me = all.get(parseInt(words[1]));
                nakack = new NAKACK2().addr(me).setUpProtocol(new Above()).setDownProtocol(new Below().addr(me));
                nakack.start();
                var digest = new MutableDigest(all.toArray(new Address[0]));
                for (Address member : all) digest.set(member, 0, 0);
                nakack.down(new Event(Event.SET_DIGEST, digest));
                nakack.down(new Event(Event.VIEW_CHANGE, new View(all.get(0), 1, all)));
                nakack.down(new Event(Event.BECOME_SERVER));
            }
            if (words[0].equals("send")) nakack.down(new BytesMessage(null, body));
            if (words[0].equals("packet")) nakack.up(Util.messageFromBuffer(body, 0, body.length));
        }
    }
}
