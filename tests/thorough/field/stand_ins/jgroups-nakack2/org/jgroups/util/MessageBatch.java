package org.jgroups.util;
public class MessageBatch extends java.util.ArrayList<org.jgroups.Message> {}
