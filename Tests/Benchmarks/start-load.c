// One start of httpdnsd for `scripts/bench start`: runs it, asks it a query every millisecond from then on, reads what
// it logs, and ends it when its store is loaded.
//
//     start-load PORT FIRST COUNT COMMAND...
//
// Each query is sent once, for one of the names FIRST up to FIRST + COUNT - 1 (names.h) by turns. Prints one line, with
// times in milliseconds from exec on:
//
//     ready first-answer loaded logged-load-time waited restored asked answered longest-answer
//
// waited is for how much of the load the thread of the store could have run and found no core free.
// asked, answered and longest-answer are of the queries sent after "ready" until `afterMilliseconds` after the store
// was loaded. Ends with 1 when the command does not get that far within `giveUpMilliseconds`; what it logged is on
// stderr.
#define _GNU_SOURCE
#include "names.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    intervalNanoseconds = 1000000,
    afterMilliseconds = 200,
    patienceMilliseconds = 2000, // for the last answers
    giveUpMilliseconds = 20000,
    maxQueries = 32768, // one a millisecond; ids must not return
    maxReplyBytes = 1232,
    maxLogBytes = 8192,
};

struct asked_query {
    int64_t sentAt, answeredAt; // 0: not yet
    struct name_query query;
};

static struct asked_query queries[maxQueries];
static unsigned asked;
static int64_t began, readyAt, loadedAt, firstAnswerAt;
static long restored, loggedMilliseconds;
static double waitedMilliseconds;
static char text[maxLogBytes];
static size_t textBytes;
static int server, logReader;
static pid_t child;

static void fail(const char *what, const char *detail) {
    fprintf(stderr, "start-load: %s: %s\n%s", what, detail, text);
    if (child > 0) kill(child, SIGKILL);
    exit(1);
}

static int64_t nanoseconds(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) < 0) abort();
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double milliseconds_since_begin(int64_t instant) { return (double)(instant - began) / 1e6; }

static void connect_to(const char *port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((unsigned short)atoi(port)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server < 0) fail("socket", strerror(errno));
    if (connect(server, (struct sockaddr *)&address, sizeof address) < 0) fail("connect", strerror(errno));
}

static void run_command(char **command) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) fail("pipe", strerror(errno));
    logReader = ends[0];
    fcntl(logReader, F_SETFL, O_NONBLOCK);
    began = nanoseconds();
    child = fork();
    if (child < 0) fail("fork", strerror(errno));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDERR_FILENO);
        execv(command[0], command);
        _exit(127);
    }
    close(ends[1]);
}

// MARK: what comes in

// By the kernel's account of the thread: the second number of schedstat.
static double waited_for_a_core(void) {
    char path[320], name[32] = "";
    unsigned long long ran, waited = 0;
    snprintf(path, sizeof path, "/proc/%d/task", child);
    DIR *tasks = opendir(path);
    if (tasks == NULL) fail(path, strerror(errno));
    for (struct dirent *task; strcmp(name, "store\n") != 0 && (task = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/comm", child, task->d_name);
        FILE *file = fopen(path, "re");
        if (file == NULL) continue; // "." and ".."
        if (fgets(name, sizeof name, file) == NULL) name[0] = 0;
        fclose(file);
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", child, task->d_name);
    }
    closedir(tasks);
    FILE *file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%llu %llu", &ran, &waited) != 2) fail(path, "unreadable");
    fclose(file);
    return (double)waited / 1e6;
}

static void read_log(void) {
    ssize_t count = read(logReader, text + textBytes, maxLogBytes - 1 - textBytes);
    if (count == 0) fail("the command ended, or says too much", "");
    if (count < 0) return;
    textBytes += (size_t)count;
    text[textBytes] = 0;
    if (readyAt == 0 && strstr(text, "httpdnsd: ready") != NULL) readyAt = nanoseconds();
    const char *line = strstr(text, " answers loaded from ");
    if (loadedAt != 0 || line == NULL || strchr(line, '\n') == NULL) return;
    loadedAt = nanoseconds();
    waitedMilliseconds = waited_for_a_core();
    const char *time = strstr(line, " in ");
    if (time == NULL) fail("the daemon logs no load time", line);
    while (line > text && line[-1] != ' ') line--;
    restored = atol(line);
    loggedMilliseconds = atol(time + 4);
}

static void take_replies(void) {
    unsigned char reply[maxReplyBytes];
    ssize_t bytes;
    while ((bytes = recv(server, reply, sizeof reply, 0)) >= 0 || errno == ECONNREFUSED) { // no listener yet
        if (bytes < 12) continue;
        unsigned id = (unsigned)(reply[0] << 8 | reply[1]);
        if (id >= asked || queries[id].answeredAt != 0) continue;
        if (!is_good_reply(reply, (size_t)bytes, &queries[id].query)) continue; // counts as unanswered
        queries[id].answeredAt = nanoseconds();
        if (firstAnswerAt == 0) firstAnswerAt = queries[id].answeredAt;
    }
}

static void ask(unsigned name) {
    if (asked == maxQueries) fail("no end", "too many queries");
    struct asked_query *query = &queries[asked];
    write_name_query(&query->query, (uint16_t)asked, name);
    query->sentAt = nanoseconds();
    send(server, query->query.packet, query->query.bytes, MSG_NOSIGNAL);
    asked++;
}

static void wait_until(int64_t instant) {
    struct pollfd waits[] = {{.fd = server, .events = POLLIN}, {.fd = logReader, .events = POLLIN}};
    int64_t left = instant - nanoseconds();
    struct timespec timeout = {left > 0 ? left / 1000000000 : 0, left > 0 ? left % 1000000000 : 0};
    ppoll(waits, 2, &timeout, NULL);
    take_replies();
    read_log();
}

static unsigned unanswered(void) {
    unsigned count = 0;
    for (unsigned id = 0; id < asked; id++) count += queries[id].sentAt >= readyAt && queries[id].answeredAt == 0;
    return count;
}

static void report(void) {
    unsigned count = 0;
    int64_t longest = 0;
    for (unsigned id = 0; id < asked; id++) {
        if (queries[id].sentAt < readyAt) continue;
        count++;
        int64_t time = queries[id].answeredAt - queries[id].sentAt;
        if (time > longest) longest = time;
    }
    printf("%.1f %.1f %.1f %ld %.1f %ld %u %u %.1f\n", milliseconds_since_begin(readyAt),
           milliseconds_since_begin(firstAnswerAt), milliseconds_since_begin(loadedAt), loggedMilliseconds,
           waitedMilliseconds, restored, count, count - unanswered(), (double)longest / 1e6);
}

int main(int argc, char **argv) {
    if (argc < 5 || atol(argv[3]) < 1 || atol(argv[2]) + atol(argv[3]) - 1 > maxNameNumber) {
        fprintf(stderr, "usage: start-load PORT FIRST COUNT COMMAND...\n");
        return 3;
    }
    unsigned first = (unsigned)atol(argv[2]), names = (unsigned)atol(argv[3]);
    connect_to(argv[1]);
    run_command(argv + 4);
    int64_t askAt = began, giveUpAt = began + giveUpMilliseconds * 1000000ll;
    // A prime step: the names of consecutive queries are in no order that a file could have.
    for (uint64_t turn = 0; loadedAt == 0 || nanoseconds() < loadedAt + afterMilliseconds * 1000000ll;) {
        wait_until(askAt);
        int64_t now = nanoseconds();
        if (now > giveUpAt) fail("no end", "the store was not loaded");
        if (now < askAt) continue;
        ask(first + (unsigned)(turn++ * 7919 % names));
        askAt = now + intervalNanoseconds;
    }
    int64_t endAt = nanoseconds() + patienceMilliseconds * 1000000ll;
    while (unanswered() > 0 && nanoseconds() < endAt) wait_until(endAt);
    if (firstAnswerAt == 0) fail("no answer", "to any query");
    report();
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
    return 0;
}
