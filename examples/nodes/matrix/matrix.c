/* Causal order by matrices of numbers of messages (Raynal, Schiper & Toueg).

       cc -O2 -o matrix matrix.c
       crownless conform --order causal -- ./matrix

       cc -O2 -DSTAMP_BEFORE_INCREMENT -o wrong matrix.c
       crownless conform --order causal -- ./wrong

   Wrong is that the receiver counts the message itself in its stamp, and the sender has not counted it yet. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void transmit(int to, const char *body);
void deliver(const char *message);

enum { PROCESSES = 16, HELD = 256 };

struct packet { int from, stamp[PROCESSES][PROCESSES]; char message[64]; };

static int me, n;
static int sent[PROCESSES][PROCESSES]; /* sent[k][j]: the messages that k has sent to j, as far as is known here */
static int delivered[PROCESSES];       /* delivered[k]: those of k that were delivered here */
static struct packet waiting[HELD];
static int held;

void on_init(int process, int processes) {
    if (processes > PROCESSES) fprintf(stderr, "more than %d processes\n", PROCESSES), exit(1);
    me = process, n = processes, held = 0;
    memset(sent, 0, sizeof sent), memset(delivered, 0, sizeof delivered);
}

void on_send(const int *to, int receivers, const char *message) {
    char body[4096], *end = body;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) end += sprintf(end, "%d ", sent[k][j]);
    snprintf(end, body + sizeof body - end, "%s", message);
    for (int k = 0; k < receivers; k++) transmit(to[k], body), sent[me][to[k]]++;
}

static struct packet unpacked(int from, const char *body) {
    struct packet p = {.from = from};
    char *rest = (char *)body;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) p.stamp[k][j] = strtol(rest, &rest, 10);
    snprintf(p.message, sizeof p.message, "%s", rest + 1);
    return p;
}

static bool is_ready(const struct packet *p) {
    for (int k = 0; k < n; k++) {
#ifdef STAMP_BEFORE_INCREMENT
        if (p->stamp[k][me] > delivered[k] + (k == p->from)) return false;
#else
        if (p->stamp[k][me] > delivered[k]) return false;
#endif
    }
    return true;
}

static void take(struct packet p) {
    delivered[p.from]++;
    p.stamp[p.from][me]++; /* which counts what came before the message, and now the message too */
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
            if (p.stamp[k][j] > sent[k][j]) sent[k][j] = p.stamp[k][j];
    deliver(p.message); /* last, since the application may send from there */
}

void on_packet(int from, const char *body) {
    if (held == HELD) fprintf(stderr, "more than %d messages wait\n", HELD), exit(1);
    waiting[held++] = unpacked(from, body);
    for (int i = 0; i < held; i++)
        if (is_ready(&waiting[i])) {
            struct packet ready = waiting[i];
            memmove(waiting + i, waiting + i + 1, (--held - i) * sizeof *waiting);
            take(ready);
            i = -1; /* from the first again: another one may be ready now */
        }
}

/* ---- The lines that crownless reads and writes. Nothing below needs a change. ---- */

enum { MOST = 64 };
static char replies[MOST][256]; /* what the application will send from inside deliveries */
static int kept, replied;
static FILE *answers; /* where nothing else is printed */

static void send_to(char *rest) {
    int to[MOST], receivers = 0;
    do to[receivers++] = strtol(rest, &rest, 10);
    while (*rest++ == ',' && receivers < MOST);
    on_send(to, receivers, rest);
}

void transmit(int to, const char *body) { fprintf(answers, "packet %d %s\n", to, body); }

void deliver(const char *message) {
    fprintf(answers, "deliver %s\n", message);
    if (replied < kept) send_to(replies[replied++]);
}

int main(void) {
    static char line[1 << 20];
    int first, second, rest;
    answers = fdopen(dup(1), "w"), dup2(2, 1);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "init %d %d", &first, &second) == 2) {
            kept = replied = 0;
            on_init(first, second);
            fprintf(answers, "ok replies\n");
        } else if (strncmp(line, "reply ", 6) == 0 && kept < MOST) {
            snprintf(replies[kept++], sizeof *replies, "%.255s", line + 6);
            continue; /* not an input yet, so that it has no answer */
        } else if (strncmp(line, "send ", 5) == 0) {
            send_to(line + 5);
            fprintf(answers, "ok\n");
        } else if (sscanf(line, "packet %d%n", &first, &rest) == 1) {
            on_packet(first, line + rest + 1);
            fprintf(answers, "ok\n");
        } else {
            fprintf(stderr, "this adapter has nothing for %s\n", line);
            return 1;
        }
        fflush(answers);
    }
}
