package net.sf.appia.core;
public class AppiaEventException extends Exception {}
