/* Stands in for the project's broadcast, without relays: a packet is its sender, a clock and a message. */
#include <string.h>
#include "config_parser.h"

struct packet { unsigned char sender, clock[MAX_PROCESSES]; char message[64]; };
static struct packet held[MAX_CHARS];
static unsigned char clock[MAX_PROCESSES];
static size_t me, n, count, sent;
static struct sockaddr_in *addresses;

void lcb_init(int socket, size_t id, struct sockaddr_in *all, size_t processes, struct LCAUSALConfigInfo *config) {
    me = id, n = processes, addresses = all;
}

void lcb_broadcast(int socket, const char *message, size_t length) {
    struct packet packet = {.sender = me};
    memcpy(packet.clock, clock, sizeof clock), memcpy(packet.message, message, length);
    packet.clock[me] = sent++; /* as many messages of its own come before it */
    for (size_t i = 0; i < n; i++) sl_send(socket, addresses[i], (char *)&packet, sizeof packet, sent);
}

void lcb_deliver(int socket, struct sockaddr_in *from, socklen_t *length, char *message) {
    sl_deliver(socket, from, length, message);
    memcpy(&held[count++], message, sizeof *held);
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < MAX_PROCESSES && held[i].clock[k] <= clock[k]) k++;
        if (k < MAX_PROCESSES) continue;
        clock[held[i].sender]++, log_deliver_events(held[i].message, held[i].sender);
        held[i] = held[--count], i = -1; /* from the first again: another one may be ready now */
    }
}
