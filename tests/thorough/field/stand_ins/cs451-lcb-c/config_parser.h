/* Stands in for three headers of the project. */
#pragma once
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
typedef unsigned int uint;
#define MAX_PROCESSES 8
#define MAX_CHARS 256
#define MESSAGE_SIZE 256
struct LCAUSALConfigInfo { enum { L_CAUSAL } type; size_t n_processes[MAX_PROCESSES], causal_processes[MAX_PROCESSES][MAX_PROCESSES]; };
void lcb_init(int, size_t, struct sockaddr_in *, size_t, struct LCAUSALConfigInfo *);
void lcb_broadcast(int, const char *, size_t);
void lcb_deliver(int, struct sockaddr_in *, socklen_t *, char *);
void sl_send(int, struct sockaddr_in, const char *, size_t, uint);
size_t sl_deliver(int, struct sockaddr_in *, socklen_t *, char *);
void log_deliver_events(char *, size_t);
