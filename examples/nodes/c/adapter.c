/* Any node of node.h as a program that speaks lines: cc -O2 -o my_node my_node.c adapter.c */

#include <stdio.h>
#include <string.h>
#include "node.h"

static struct { int to; char message[64]; } reply[64];
static int replies, replied;

void transmit(int to, const char *body) { printf("packet %d %s\n", to, body); }
void deliver(const char *message) {
    printf("deliver %s\n", message);
    if (replied < replies) {
        int next = replied++;
        on_send(reply[next].to, reply[next].message);
    }
}

int main(void) {
    static char line[1 << 16];
    int process, n, rest;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "init %d %d", &process, &n) == 2) {
            replies = replied = 0;
            on_init(process, n);
            printf("ok replies\n"), fflush(stdout); /* it knows the word `reply` */
            continue;
        } else if (sscanf(line, "send %d %n", &process, &rest) == 1) {
            on_send(process, line + rest);
        } else if (sscanf(line, "packet %d %n", &process, &rest) == 1) {
            on_packet(process, line + rest);
        } else if (replies < 64 && sscanf(line, "reply %d %63[^\n]", &reply[replies].to, reply[replies].message) == 2) {
            replies++;
            continue; /* it is no input: what follows is */
        }
        printf("ok\n"), fflush(stdout);
    }
}
