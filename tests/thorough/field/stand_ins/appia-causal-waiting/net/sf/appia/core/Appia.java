package net.sf.appia.core;
public class Appia { protected Thread thread; }
