package org.jgroups;
public interface Address {}
