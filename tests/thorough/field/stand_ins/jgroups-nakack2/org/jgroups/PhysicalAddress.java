package org.jgroups;
public interface PhysicalAddress extends Address {}
