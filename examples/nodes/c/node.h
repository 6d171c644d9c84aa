/* A node in C: adapter.c calls these functions of it ... */
void on_init(int me, int n);
void on_send(int to, const char *message);
void on_packet(int from, const char *body);

/* ... and it calls these two of adapter.c. */
void transmit(int to, const char *body);
void deliver(const char *message);
