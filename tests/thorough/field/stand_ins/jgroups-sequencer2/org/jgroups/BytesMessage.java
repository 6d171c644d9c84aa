package org.jgroups;
public class BytesMessage extends Message { public BytesMessage(Address dest, byte[] text) { super(dest, text); } }
