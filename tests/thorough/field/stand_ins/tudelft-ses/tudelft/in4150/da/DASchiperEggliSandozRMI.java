package tudelft.in4150.da;

public interface DASchiperEggliSandozRMI extends java.rmi.Remote {
    void receive(int sender, Message message) throws java.rmi.RemoteException;
}
