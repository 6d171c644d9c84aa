// Drives org.jgroups.protocols.SEQUENCER2 between a protocol above and one below that are ours.
import static java.lang.Integer.parseInt;
import static java.nio.charset.StandardCharsets.UTF_8;
import java.io.*;
import java.util.*;
import org.jgroups.*;
import org.jgroups.protocols.SEQUENCER2;
import org.jgroups.stack.Protocol;
import org.jgroups.util.MessageBatch;
import org.jgroups.util.Util;

final class Adapter {
    private final List<Address> members = new ArrayList<>();
    private final SEQUENCER2 sequencer = new SEQUENCER2();

    /** In the place of the channel and the application. */
    private static final class Above extends Protocol {
        @Override public Object up(Event event) { return null; }
        @Override public void up(MessageBatch batch) {
            for (Message message : batch) System.out.println("deliver " + new String(message.getArray(), UTF_8));
        }
    }

    /** In the place of the reliable protocols and the transport; a multicast goes to its sender too. */
    private final class Below extends Protocol {
        @Override public Object down(Message message) {
            try {
                if (message.getSrc() == null) message.setSrc(getAddress());
                var bytes = Util.messageToBuffer(message);
                String body = HexFormat.of().formatHex(bytes.getArray(), 0, bytes.getLength());
                for (Address to : message.getDest() == null ? members : List.of(message.getDest())) {
                    System.out.println("packet " + members.indexOf(to) + " " + body);
                }
            } catch (Exception error) { throw new IllegalStateException(error); }
            return null;
        }
    }

    private Adapter(int me, int n) throws Exception {
        for (int k = 0; k < n; k++) members.add(new org.jgroups.util.UUID(0, k + 1));
        sequencer.addr(members.get(me)).setUpProtocol(new Above()).setDownProtocol(new Below().addr(members.get(me)));
        sequencer.start();
        sequencer.up(new Event(Event.VIEW_CHANGE, new View(members.get(0), 1, members)));
    }

    public static void main(String[] args) throws Exception {
        SEQUENCER2 sequencer = null;
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null; System.out.println("ok")) {
            String[] words = line.split(" ");
            byte[] last = words[0].equals("packet") ? HexFormat.of().parseHex(words[2]) : words[2].getBytes(UTF_8);
            switch (words[0]) {
                case "init" -> sequencer = new Adapter(parseInt(words[1]), parseInt(words[2])).sequencer;
                case "send" -> sequencer.down(new BytesMessage(null, last));
                case "packet" -> sequencer.up(Util.messageFromBuffer(last, 0, last.length));
            }
        }
    }
}
