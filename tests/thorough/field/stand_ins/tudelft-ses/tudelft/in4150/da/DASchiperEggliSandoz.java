package tudelft.in4150.da;

import java.rmi.registry.*;
import java.rmi.server.UnicastRemoteObject;
import java.util.*;

/** FIFO, but wrong: one message of each sender can be held back, no more. */
public class DASchiperEggliSandoz extends UnicastRemoteObject implements DASchiperEggliSandozRMI {
    private final int me, port;
    private final int[] sent = new int[9], delivered = new int[9];
    private final Map<Integer, Message> held = new HashMap<>();
    private DASchiperEggliSandoz(int me, int port) throws java.rmi.RemoteException { this.me = me; this.port = port; }

    public static DASchiperEggliSandoz[] createProcesses(int n, int port) throws Exception {
        var made = new DASchiperEggliSandoz[n];
        for (int k = 0; k < n; k++) {
            made[k] = new DASchiperEggliSandoz(k + 1, port);
            LocateRegistry.getRegistry(port).bind("process-" + (k + 1), made[k]);
        }
        return made;
    }
    public void send(int to, Message message, int delay) throws Exception {
        message.number = ++sent[to];
        ((DASchiperEggliSandozRMI) LocateRegistry.getRegistry(port).lookup("process-" + to)).receive(me, message);
    }
    @Override public void receive(int from, Message message) {
        held.put(from, message);
        if (message.number == delivered[from] + 1) {
            delivered[from]++;
            held.remove(from).getTimestamp();
        }
    }
}
