/* The zygote: loads the site's modules, then forks workers on command. The zygote serves no
 * requests.
 *
 * Commands are datagrams on the control socket (mailbox/wire.h). The zygote reports the ends of
 * workers. When the front ends, the socket closes and the zygote ends. */
#include "process/zygote.h"
#include "process/warmup.h"
#include "rewind/rewind.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include "trace/trace.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define MERGE_MEMORY 67 /* PR_SET_MEMORY_MERGE of Linux 6.4 */

static int stem = -1; /* the zygote's end of the socket on which workers ask for templates */
static int ends = -1; /* the descriptor that reports the end of a child */

static void become_serving_process(void)
{
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  close(mehari_control_socket);
  close(stem);
  close(ends);
}

/* Forks the process that explains a script. It keeps the control socket for its answer. */
static void fork_explainer(pTHX_ const char *file, uint32_t question, int bell, int bell_event)
{
  PerlIO_flush((PerlIO *)NULL);
  mehari_explanation_fork(aTHX_ file, question, (int[]){mehari_control_socket, stem, ends, mehari_stem_socket, bell, bell_event}, 6);
  mehari_in_child = false;
}

static void become_template(pTHX_ const mehari_wanted *wanted, const char *file, const int *files, int bell, int bell_event) __attribute__((noreturn));
static void become_template(pTHX_ const mehari_wanted *wanted, const char *file, const int *files, int bell, int bell_event)
{
  become_serving_process();
  if (wanted->manner == MEHARI_TO_FORK)
    mehari_pictures_leave();
  if (wanted->manner != MEHARI_TO_SERVE) /* a handler may lead to a script */
    close(mehari_stem_socket);
  setpgid(0, wanted->worker);
  mehari_template_run(aTHX_ file, wanted, files, bell, bell_event);
}

/* Forks the template that a worker asks for. The worker sends the template's descriptors. */
static void fork_template(pTHX_ int bell, int bell_event)
{
  struct { mehari_wanted wanted; char file[4097]; } request;
  const size_t head = offsetof(__typeof__(request), file);
  int files[MEHARI_TEMPLATE_FILES];
  struct iovec bytes = {&request, head + sizeof request.file - 1};
  union { struct cmsghdr header; char space[CMSG_SPACE(sizeof files)]; } control;
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  ssize_t got = recvmsg(stem, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  struct cmsghdr *header = got > (ssize_t)head ? CMSG_FIRSTHDR(&message) : NULL;
  if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof files))
    return;
  memcpy(files, CMSG_DATA(header), sizeof files);
  request.file[got - head] = '\0';
  PerlIO_flush((PerlIO *)NULL);
  if (request.wanted.manner == MEHARI_TO_EXPLAIN)
    fork_explainer(aTHX_ request.file, (uint32_t)request.wanted.mark, bell, bell_event);
  else {
    if (request.wanted.manner != MEHARI_TO_FORK)
      mehari_rewind_prepare(aTHX_ request.wanted.manner == MEHARI_TO_REWIND_WHERE_ROOM);
    if (!mehari_fork_own())
      become_template(aTHX_ &request.wanted, request.file, files, bell, bell_event);
  }
  mehari_in_child = false;
  for (int i = 0; i < MEHARI_TEMPLATE_FILES; i++)
    close(files[i]);
}

static void fork_worker(pTHX_ mehari_message *in, int bell, int bell_event)
{
  if (in->file_count != 2)
    return;
  PerlIO_flush((PerlIO *)NULL);
  pid_t worker = mehari_fork_own();
  if (!worker) {
    become_serving_process();
    mehari_pictures_leave();
    mehari_worker_run(aTHX_ in->files[0], in->files[1], bell, bell_event);
  }
  close(in->files[0]);
  close(in->files[1]);
  mehari_in_child = false;
  if (worker > 0)
    mehari_children_remember(worker);
  const char *reason = worker < 0 ? strerror(errno) : "";
  mehari_zygote_report(&(mehari_control){MEHARI_CONTROL_FORKED, in->head.slot, worker, 0, strlen(reason)}, reason);
}

/* Takes a question about a script. After a warm-up the stem gets the question. */
static void take_question(pTHX_ mehari_message *in, int bell, int bell_event)
{
  SV *file = mehari_message_gather(aTHX_ in);
  if (!file)
    return;
  if (mehari_stem_exists())
    mehari_stem_ask(SvPV_nolen(file), in->head.slot);
  else
    fork_explainer(aTHX_ SvPV_nolen(file), in->head.slot, bell, bell_event);
  SvREFCNT_dec(file);
}

/* Ends the zygote after the front has ended. Idle workers notice the front's end themselves, but
 * a busy worker may never look. */
static void leave(void) __attribute__((noreturn));
static void leave(void)
{
  mehari_children_kill();
  _exit(0);
}

static void unwind(pTHX_ void *argument)
{
  PERL_UNUSED_ARG(argument);
  my_exit(0);
}

/* Restores the default of signals that were ignored when the server started (nohup), because
 * scripts expect the default. */
static void heed_signals(void)
{
  static const int heeded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};
  for (size_t i = 0; i < C_ARRAY_LENGTH(heeded); i++) {
    struct sigaction now;
    if (sigaction(heeded[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN)
      signal(heeded[i], SIG_DFL);
  }
}

/* Lets the kernel merge equal pages of this process and of all that it forks
 * (`MergeWorkerMemory`). */
static void merge_memory(pTHX)
{
  SV **word = hv_fetchs(get_hv("Mehari::Server::fact", GV_ADD), "merge", 0);
  if (!word || prctl(MERGE_MEMORY, 1, 0, 0, 0) == 0)
    return;
  SV *line = sv_2mortal(newSVpvf("MergeWorkerMemory has no effect: %s", strerror(errno)));
  mehari_zygote_report(&(mehari_control){MEHARI_CONTROL_LINTED, 0, 0, 0, SvCUR(line)}, SvPVX(line));
}

/* From now on the ends of child processes are read from a descriptor. */
static void watch_children(void)
{
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, NULL);
  ends = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void reap(void)
{
  struct signalfd_siginfo seen;
  (void)!read(ends, &seen, sizeof seen);
  mehari_children_reap();
}

SV *mehari_fact(pTHX_ const char *name)
{
  SV **value = hv_fetch(get_hv("Mehari::Server::fact", GV_ADD), name, strlen(name), 0);
  return value ? *value : &PL_sv_undef;
}

/* The stem's loop. */
static void run_stem(pTHX_ int bell, int bell_event) __attribute__((noreturn));
static void run_stem(pTHX_ int bell, int bell_event)
{
  watch_children();
  mehari_pages_enlarge();
  for (;;) {
    struct pollfd waits[] = {{.fd = ends, .events = POLLIN}, {.fd = stem, .events = POLLIN}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR)
      _exit(1);
    if (waits[1].revents)
      fork_template(aTHX_ bell, bell_event);
    if (waits[0].revents)
      reap();
  }
}

static void warm_up(pTHX_ mehari_message *in, int bell, int bell_event)
{
  if (in->file_count != 2)
    return;
  PerlIO_flush((PerlIO *)NULL);
  if (mehari_stem_fork()) {
    close(in->files[0]);
    close(in->files[1]);
    run_stem(aTHX_ bell, bell_event);
  }
  close(stem);
  stem = -1;
  mehari_warmup_run(aTHX_ in->files[0], in->files[1], bell, bell_event);
}

/* Does what comes after the last code of the site and before the first worker. */
static void get_ready(pTHX_ int bell, int bell_event)
{
  if (ends < 0) {
    watch_children();
    mehari_pages_enlarge();
  }
  mehari_loading_lint(aTHX_ &(mehari_own_files){(int[]){mehari_control_socket, bell, bell_event, stem, mehari_stem_socket, ends}, 6});
}

static void report_ready(void)
{
  mehari_zygote_report(&(mehari_control){MEHARI_CONTROL_READY, 0, getpid(), 0, 0}, "");
}

void mehari_zygote_run(pTHX_ int control, int bell, int bell_event)
{
  mehari_log_levels = true;
  heed_signals();
  int const inherited[] = {control, bell, bell_event};
  for (size_t i = 0; i < C_ARRAY_LENGTH(inherited); i++)
    fcntl(inherited[i], F_SETFD, FD_CLOEXEC);
  mehari_control_socket = control;
  prctl(PR_SET_NAME, "mehari-zygote");
  /* Leaves the frames of the calling Perl code, as exit does. From here on perl's stack is
   * empty. */
  mehari_guard(aTHX_ unwind, NULL, NULL);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
    _exit(1);
  stem = pair[0];
  mehari_stem_socket = pair[1];
  mehari_message in;
  merge_memory(aTHX);
  mehari_exact_open(aTHX);
  mehari_pages_align();
  mehari_pictures_open();
  for (;;) {
    struct pollfd waits[] = {{.fd = control, .events = POLLIN}, {.fd = ends, .events = POLLIN}, {.fd = stem, .events = POLLIN}};
    if (poll(waits, 3, -1) < 0 && errno != EINTR)
      _exit(1);
    if (waits[2].revents)
      fork_template(aTHX_ bell, bell_event);
    if (waits[1].revents)
      reap();
    if (!waits[0].revents)
      continue;
    if (!mehari_message_receive(&in))
      leave();
    switch (in.head.kind) {
    case MEHARI_CONTROL_PRELOAD:
      mehari_loading_preload(aTHX_ &in);
      break;
    case MEHARI_CONTROL_SERVER:
      mehari_loading_server(aTHX_ &in);
      break;
    case MEHARI_CONTROL_TREE:
      mehari_loading_tree(aTHX_ &in);
      break;
    case MEHARI_CONTROL_READY:
      mehari_loading_finish(aTHX_ !(in.head.slot & MEHARI_READY_TRIAL));
      if (!(in.head.slot & MEHARI_READY_WARMS))
        get_ready(aTHX_ bell, bell_event);
      report_ready();
      break;
    case MEHARI_CONTROL_WARM:
      warm_up(aTHX_ &in, bell, bell_event);
      get_ready(aTHX_ bell, bell_event);
      report_ready();
      break;
    case MEHARI_CONTROL_EXPLAIN:
      take_question(aTHX_ &in, bell, bell_event);
      break;
    case MEHARI_CONTROL_INSPECT:
      mehari_inspection_fork(aTHX_ in.text);
      break;
    case MEHARI_CONTROL_FORK:
      fork_worker(aTHX_ &in, bell, bell_event);
      break;
    }
  }
}
