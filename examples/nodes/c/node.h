/* A node in C: adapter.c calls these functions of it ... */
void on_init(int me, int n);
void on_send(int to, const char *message);
void on_packet(int from, const char *body);

/* ... of which these two save time: the state of the node as text, and a node that takes it on. (A node without them
   answers "ok" alone, and is given all its inputs again.) */
const char *state(void);
void load(const char *text);

/* ... and it calls these two of adapter.c. */
void transmit(int to, const char *body);
void deliver(const char *message);
