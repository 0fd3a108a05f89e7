/* Senders and a receiver for comparisons with the kernel; times are those of one clock. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <errno.h>

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void until(int64_t at) {
  struct timespec t = {at / 1000000000LL, at % 1000000000LL};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
}
static struct sockaddr_in address(const char *ip, int port) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
  inet_pton(AF_INET, ip, &a.sin_addr);
  return a;
}
/* udp IP PORT IP-BYTES INTERVAL-US SECONDS */
static void udp(char **v) {
  struct sockaddr_in to = address(v[0], atoi(v[1]));
  int size = atoi(v[2]) - 28, fd = socket(AF_INET, SOCK_DGRAM, 0);
  int64_t step = atof(v[3]) * 1000, at = now(), end = at + atof(v[4]) * 1e9;
  char data[2000] = {0};
  int big = 8 << 20;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &big, sizeof big);
  connect(fd, (void *)&to, sizeof to);
  for (; at < end; at += step) {
    until(at);
    int64_t t = now();
    memcpy(data, &t, 8);
    send(fd, data, size, MSG_DONTWAIT);
  }
}
/* tcp IP PORT SECONDS */
static void tcp(char **v) {
  struct sockaddr_in to = address(v[0], atoi(v[1]));
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  static char data[65536];
  int64_t end = now() + atof(v[2]) * 1e9;
  if (connect(fd, (void *)&to, sizeof to)) { perror("connect"); return; }
  while (now() < end && write(fd, data, sizeof data) > 0) {}
}
/* sink SKIP-SECONDS SECONDS PORT...: prints port, packets, bytes of payload and mean delay in ms, which TCP, on
   ports from 7000, does not have */
static void sink(int n, char **v) {
  double skip = atof(v[0]), seconds = atof(v[1]);
  int ports = n - 2;
  struct pollfd fds[64];
  int listening[64], number[64], count = 0;
  static double *delays[64];
  static int64_t bytes[64], packets[64];
  for (int i = 0; i < ports; i++) {
    int port = atoi(v[2 + i]), one = 1, big = 8 << 20;
    int fd = socket(AF_INET, port < 7000 ? SOCK_DGRAM : SOCK_STREAM, 0);
    struct sockaddr_in a = address("0.0.0.0", port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof big);
    bind(fd, (void *)&a, sizeof a);
    listening[count] = port >= 7000;
    if (port >= 7000) listen(fd, 4);
    number[count] = i;
    delays[i] = malloc(sizeof(double) * 2000000);
    fds[count++] = (struct pollfd){fd, POLLIN, 0};
  }
  int64_t start = now() + skip * 1e9, end = start + seconds * 1e9;
  static char data[70000];
  while (now() < end) {
    if (poll(fds, count, 100) <= 0) continue;
    for (int f = 0; f < count; f++) {
      if (!(fds[f].revents & POLLIN)) continue;
      if (listening[f]) {
        fds[count] = (struct pollfd){accept(fds[f].fd, NULL, NULL), POLLIN, 0};
        listening[count] = 0;
        number[count] = number[f];
        count++;
        continue;
      }
      ssize_t got = recv(fds[f].fd, data, sizeof data, MSG_DONTWAIT);
      int64_t t = now(), sent;
      if (got <= 0 || t < start || t >= end) continue;
      int i = number[f];
      memcpy(&sent, data, 8);
      bytes[i] += got;
      if (atoi(v[2 + i]) < 7000) delays[i][packets[i]] = (t - sent) / 1e6;
      packets[i]++;
    }
  }
  for (int i = 0; i < ports; i++) {
    int64_t p = packets[i];
    double sum = 0;
    for (int64_t k = 0; atoi(v[2 + i]) < 7000 && k < p; k++) sum += delays[i][k];
    printf("%s %lld %lld %.4f\n", v[2 + i], (long long)p, (long long)bytes[i], p ? sum / p : 0);
  }
}
int main(int n, char **v) {
  if (n > 2 && !strcmp(v[1], "udp")) udp(v + 2);
  if (n > 2 && !strcmp(v[1], "tcp")) tcp(v + 2);
  if (n > 2 && !strcmp(v[1], "sink")) sink(n - 2, v + 2);
  return 0;
}
