// Uses the C parts of the programs and prints what they do: to be compared between processors.
#define _GNU_SOURCE
#include "CLinux.h"
#include "CTOML.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int bound_socket(struct sockaddr_in *address) {
    int socket_ = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof *address;
    if (bind(socket_, (struct sockaddr *)address, length) || getsockname(socket_, (struct sockaddr *)address, &length)
        || setsockopt(socket_, IPPROTO_IP, IP_PKTINFO, &on, sizeof on)) {
        perror("socket");
        exit(1);
    }
    return socket_;
}

// Two events in an array: their distance and the place of the tag differ between processors.
static void use_epoll(void) {
    int epoll = epoll_create1(0);
    for (uint64_t number = 1; number <= 2; number++)
        clinux_epoll_control(epoll, EPOLL_CTL_ADD, eventfd(1, 0), EPOLLIN, number << 60 | number);
    struct clinux_event events[4];
    int count = clinux_epoll_wait(epoll, events, 4, 1000);
    uint64_t tags = 0;
    for (int index = 0; index < count; index++) tags += events[index].tag;
    printf("epoll: %d events, tags %llx, %x %x\n", count, (unsigned long long)tags, events[0].events,
           events[1].events);
}

static void use_datagrams(void) {
    struct sockaddr_in to, from;
    int receiver = bound_socket(&to), sender = bound_socket(&from);
    char texts[2][16] = {"first", "second"}, received[2][16] = {0};
    union {
        char bytes[clinux_control_bytes];
        size_t aligned;
    } controls[2];
    struct sockaddr_in sources[2];
    struct clinux_vector out[2], in[2];
    struct clinux_datagram sent[2] = {0}, got[2] = {0};
    for (int index = 0; index < 2; index++) {
        out[index] = (struct clinux_vector){texts[index], strlen(texts[index])};
        sent[index].header = (struct clinux_header){
            .address = &to, .address_length = sizeof to, .vectors = &out[index], .vector_count = 1};
        in[index] = (struct clinux_vector){received[index], sizeof received[index]};
        got[index].header = (struct clinux_header){
            .address = &sources[index], .address_length = sizeof sources[index], .vectors = &in[index],
            .vector_count = 1, .control = controls[index].bytes, .control_length = clinux_control_bytes};
    }
    int sent_count = clinux_send_datagrams(sender, sent, 2);
    int count = clinux_receive_datagrams(receiver, got, 2);
    for (int index = 0; index < count; index++) {
        printf("datagram: %u bytes, %s, from the sender: %d\n", got[index].length, received[index],
               sources[index].sin_port == from.sin_port);
        clinux_answer_from_asked_address(&got[index].header);
        struct cmsghdr *control = (struct cmsghdr *)controls[index].bytes;
        struct in_pktinfo *asked = (struct in_pktinfo *)CMSG_DATA(control);
        printf("asked at %s, interface %d\n", inet_ntoa(asked->ipi_addr), asked->ipi_ifindex);
    }
    printf("datagrams: %d sent, %d received\n", sent_count, count);
}

static void *wait_long(void *unused) {
    clinux_name_this_thread("waits");
    pause();
    return unused;
}

static void use_processes(void) {
    int pair[2], status = 0;
    int32_t process = 0;
    uint32_t user = 1, group = 1;
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    int code = clinux_peer_credentials(pair[0], &process, &user, &group);
    printf("peer: %d, itself: %d %d\n", code, process == getpid(), user == getuid() && group == getgid());
    pid_t trial = clinux_fork_for_trial(1 << 26);
    if (trial == 0) _exit(7);
    waitpid(trial, &status, 0);
    printf("trial: %d\n", WEXITSTATUS(status));
    pthread_t thread;
    pthread_create(&thread, NULL, wait_long, NULL);
    printf("thread: %s\n", clinux_error_name(clinux_join_within(thread, 20)));
    printf("account: %d %u %u, none: %d\n", clinux_account("root", &user, &group), user, group,
           clinux_account("no-such-user", &user, &group));
    printf("processors: %d, descriptors: %d\n", clinux_processors() > 0, clinux_descriptor_limit() > 0);
    printf("%s: %s\n", clinux_error_name(EADDRINUSE), clinux_error_text(EADDRINUSE));
}

static void use_files(const char *folder) {
    char one[4096], other[4096];
    snprintf(one, sizeof one, "%s/one", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    struct clinux_record_part parts[] = {{"first ", 6}, {"second", 6}};
    int code = clinux_write_records(one, "header: ", 8, parts, 2, 11);
    clinux_write_records(other, "", 0, NULL, 0, 0);
    int exchanged = clinux_exchange(one, other);
    FILE *file = fopen(other, "r");
    struct clinux_record_moment moment;
    char header[9] = "", text[13] = "";
    int is_whole = fread(header, 8, 1, file) && fread(&moment, sizeof moment, 1, file) && fread(text, 12, 1, file);
    struct stat facts;
    fstat(fileno(file), &facts);
    printf("records: %d, %d, %d, %s%s, signal %d, mode %o, %lld bytes\n", code, exchanged, is_whole, header, text,
           (int)moment.signal, facts.st_mode & 0777, (long long)facts.st_size);
}

static void use_toml(void) {
    const char *text = "a = [1, -9223372036854775808]\n[t]\nf = 0.1\nb = true\ns = \"\\u00e9\"\n";
    ctoml_problem problem;
    ctoml_document *document = ctoml_parse(text, strlen(text), &problem);
    size_t count;
    const ctoml_node *nodes = ctoml_nodes(document, &count);
    for (size_t index = 0; index < count; index++) {
        const ctoml_node *node = &nodes[index];
        ctoml_place place = ctoml_value_place(document, index);
        printf("%zu: kind %d, %.*s, %.*s, %lld, %.17g, children %zu from %zu, at %zu:%zu\n", index, node->kind,
               (int)node->key_bytes, node->key ? node->key : "", (int)node->text_bytes, node->text ? node->text : "",
               (long long)node->integer, node->kind == ctoml_float ? node->number : 0, node->child_count,
               node->first_child, place.line, place.column);
    }
    ctoml_free(document);
    const char *wrong[] = {"a = 1\nb = [\n", "[.]\n", "a = 1\na = 2\n"};
    for (int index = 0; index < 3; index++) {
        document = ctoml_parse(wrong[index], strlen(wrong[index]), &problem);
        printf("refused: %d, %zu:%zu %s\n", document == NULL, problem.place.line, problem.place.column, problem.reason);
    }
}

int main(int count, char **arguments) {
    if (count != 2) return 3;
    use_epoll();
    use_datagrams();
    use_processes();
    use_files(arguments[1]);
    use_toml();
    return 0;
}
