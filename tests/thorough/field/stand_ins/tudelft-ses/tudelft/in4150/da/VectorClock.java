package tudelft.in4150.da;

public class VectorClock implements java.io.Serializable {}
