// Drives DASchiperEggliSandoz: its processes in their RMI registry, where our objects stand for the other ones.
import static java.lang.Integer.parseInt;
import static java.rmi.server.UnicastRemoteObject.exportObject;

import java.io.*;
import java.rmi.registry.LocateRegistry;
import java.util.HexFormat;
import tudelft.in4150.da.*;

final class Adapter {
    private static boolean receiving;

    /** Their message, which carries no text, with one; its timestamp is read where it is delivered, and only there. */
    private static final class Text extends Message {
        private final String text;
        Text(int processes, String text) { super(processes); this.text = text; }
        @Override public VectorClock getTimestamp() {
            if (receiving) System.out.println("deliver " + text);
            return super.getTimestamp();
        }
    }

    /** In the place of another process: puts what is sent to it on the channel. */
    private record Peer(int process) implements DASchiperEggliSandozRMI {
        private java.rmi.Remote stub() throws IOException { return exportObject(this, 0); }
        @Override public void receive(int sender, Message message) {
            var bytes = new ByteArrayOutputStream();
            try { new ObjectOutputStream(bytes).writeObject(message); } catch (IOException e) { throw new Error(e); }
            System.out.println("packet " + process + " " + HexFormat.of().formatHex(bytes.toByteArray()));
        }
    }

    public static void main(String[] args) throws Exception {
        System.setProperty("java.rmi.server.hostname", "127.0.0.1");
        var free = new java.net.ServerSocket(0);
        int port = free.getLocalPort(), me = 0, n = 0;
        free.close();
        var registry = LocateRegistry.createRegistry(port);
        DASchiperEggliSandoz[] processes = {};
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null; System.out.println("ok")) {
            String[] words = line.split(" ");
            receiving = words[0].equals("packet");
            if (words[0].equals("init")) {
                for (String name : registry.list()) registry.unbind(name);
                me = parseInt(words[1]); n = parseInt(words[2]);
                processes = DASchiperEggliSandoz.createProcesses(n, port);
                for (int k = 0; k < n; k++) if (k != me) registry.rebind("process-" + (k + 1), new Peer(k).stub());
            } else if (words[0].equals("send")) {
                processes[me].send(parseInt(words[1]) + 1, new Text(n, words[2]), 0);
            } else {
                var in = new ObjectInputStream(new ByteArrayInputStream(HexFormat.of().parseHex(words[2])));
                processes[me].receive(parseInt(words[1]) + 1, (Message) in.readObject());
            }
        }
        System.exit(0); // the threads of RMI would keep it alive
    }
}
