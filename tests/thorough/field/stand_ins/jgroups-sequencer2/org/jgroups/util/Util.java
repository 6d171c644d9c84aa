package org.jgroups.util;
import org.jgroups.Message;
public class Util {
    public record Bytes(byte[] getArray, int getLength) {}
    public static Bytes messageToBuffer(Message message) {
        byte[] bytes = java.util.Arrays.copyOf(message.text, message.text.length + 1);
        bytes[message.text.length] = (byte) message.number;
        return new Bytes(bytes, bytes.length);
    }
    public static Message messageFromBuffer(byte[] bytes, int offset, int length) {
        var message = new Message(null, java.util.Arrays.copyOf(bytes, length - 1));
        message.number = bytes[length - 1];
        return message;
    }
}
