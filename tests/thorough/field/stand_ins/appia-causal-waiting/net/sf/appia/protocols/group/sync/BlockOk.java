package net.sf.appia.protocols.group.sync;
public class BlockOk {}
