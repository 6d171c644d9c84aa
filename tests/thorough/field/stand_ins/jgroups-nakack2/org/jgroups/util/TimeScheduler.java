package org.jgroups.util;
public interface TimeScheduler {}
