/* Drives the localized causal broadcast of RaphaelBonatti/CS451-2021-project, down to its perfect links. */
#include <setjmp.h>
#include <string.h>
#include <unistd.h>
#include "config_parser.h"
#include "localized_causal_broadcast.h"
#include "logger.h"

static struct sockaddr_in addresses[MAX_PROCESSES];
static struct { size_t from, n; char bytes[MAX_CHARS]; } arrived[64]; /* packets that are still to be taken */
static size_t me, arrivals, taken;
static jmp_buf none_left;

/* In place of their stubborn links, which own the UDP socket; ports as in the project's example. */
void sl_init(int socket) {} void sl_destroy() {}
uint get_index(struct sockaddr_in address) { return ntohs(address.sin_port) - 11000u; }
static void arrives(size_t from, const char *bytes, size_t n) {
    arrived[arrivals].from = from, arrived[arrivals].n = n;
    memcpy(arrived[arrivals++].bytes, bytes, n);
}
void sl_send(int socket, struct sockaddr_in to, const char *bytes, size_t n, uint number) {
    if (get_index(to) == me) { arrives(me, bytes, n); return; } /* over the loopback, at once */
    printf("packet %u ", get_index(to) - 1);
    for (size_t i = 0; i < n; i++) printf(i + 1 < n ? "%02x" : "%02x\n", (unsigned char)bytes[i]);
}
size_t sl_deliver(int socket, struct sockaddr_in *from, socklen_t *length, char *message) {
    if (taken == arrivals) longjmp(none_left, 1);
    *from = addresses[arrived[taken].from - 1];
    memcpy(memset(message, 0, MAX_CHARS), arrived[taken].bytes, arrived[taken].n);
    return arrived[taken++].n;
}
void log_deliver_events(char *content, size_t sender) { printf("deliver %s\n", content); }


static void start(size_t id, size_t n) {
    static struct LCAUSALConfigInfo config = {.type = L_CAUSAL}; /* as if its file said: every process affects all */
    for (size_t i = 0; i < n; i++) addresses[i].sin_port = htons(11001 + i), config.n_processes[i + 1] = n;
    for (size_t i = 0; i < n * n; i++) config.causal_processes[i / n + 1][i % n] = i % n + 1;
    lcb_init(0, me = id + 1, addresses, n, &config);
}

int main(int count, char **words) {
    char line[4096], buffer[MESSAGE_SIZE + MAX_CHARS], hex[2048], one[64], two[64];
    struct sockaddr_in sender; socklen_t length = sizeof sender;
    if (count == 3) start(atoi(words[1]), atoi(words[2])), printf("ok\n"), fflush(stdout);
    setvbuf(stdin, NULL, _IONBF, 0); /* nothing is read ahead of an init, at which the program starts anew: */
    while (fgets(line, sizeof line, stdin)) { /* it keeps its state in static variables */
        size_t from, n = 0;
        if (sscanf(line, "init %63s %63s", one, two) == 2) execl("/proc/self/exe", words[0], one, two, NULL);
        arrivals = taken = 0;
        if (sscanf(line, "send %63s %255s", one, buffer) == 2) lcb_broadcast(0, buffer, strlen(buffer));
        if (sscanf(line, "packet %zu %2047s", &from, hex) == 2) {
            while (sscanf(hex + 2 * n, "%2hhx", (unsigned char *)buffer + n) == 1) n++;
            arrives(from + 1, buffer, n);
        }
        while (!setjmp(none_left)) for (;;) lcb_deliver(0, &sender, &length, buffer); /* as their run_receiver */
        printf("ok\n"), fflush(stdout);
    }
}
