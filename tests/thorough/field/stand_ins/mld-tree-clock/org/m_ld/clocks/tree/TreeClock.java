package org.m_ld.clocks.tree;
import java.util.HashMap;
public record TreeClock(String id, HashMap<String, Long> sent) implements java.io.Serializable {
    public static final TreeClock GENESIS = new TreeClock("", new HashMap<>());
    public static final class Fork { public TreeClock left, right; }
    public Fork fork() {
        var fork = new Fork();
        fork.left = new TreeClock(id + "l", new HashMap<>());
        fork.right = new TreeClock(id + "r", new HashMap<>());
        return fork;
    }
}
