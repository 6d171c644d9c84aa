package net.sf.appia.core.message;
public class Message {
    private String text;
    public Message(byte[] bytes, int offset, int length) { text = new String(bytes, offset, length); }
    public byte[] toByteArray() { return text.getBytes(); }
    public void pushString(String pushed) { text = pushed + " " + text; }
    public String popString() {
        String[] parts = text.split(" ", 2);
        text = parts[1];
        return parts[0];
    }
}
