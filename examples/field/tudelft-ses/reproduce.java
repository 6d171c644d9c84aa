// Their process P2 loses m2: it comes from P1 with m3, both ahead of m1, and the held-back m3 takes its place.
import java.rmi.registry.LocateRegistry;
import java.util.*;
import tudelft.in4150.da.*;

final class Reproduce {
    private static final List<String> delivered = Collections.synchronizedList(new ArrayList<>());

    /** Their message with a name; its timestamp is read where it is delivered. */
    private static final class Named extends Message {
        private final String name;

        Named(String name) { super(2); this.name = name; }

        @Override public VectorClock getTimestamp() {
            delivered.add(name);
            return super.getTimestamp();
        }
    }

    public static void main(String[] args) throws Exception {
        LocateRegistry.createRegistry(1098);
        var processes = DASchiperEggliSandoz.createProcesses(2, 1098);
        processes[0].send(2, new Message(2), 1000); // m1, with a delay of theirs: a second
        processes[0].send(2, new Named("m2"), 0);
        processes[0].send(2, new Named("m3"), 0);
        Thread.sleep(2000);
        System.out.println("of m2 and m3, P2 has delivered " + delivered + ", and holds " + processes[1].getMessageBuffer());
        System.exit(0);
    }
}
