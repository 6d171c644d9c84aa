package net.sf.appia.core;
public class Direction { public static final int UP = 1, DOWN = 2; }
