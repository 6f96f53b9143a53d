/* The zygote: loads the site's modules, then forks workers on command. It serves no requests.
 *
 * Commands are datagrams on the control socket (mailbox/wire.h). The zygote reports the ends of
 * workers. When the front ends, the socket closes and the zygote ends. */
#include "process/process.h"
#include "rewind/rewind.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "phases/settings.h"
#include "script/script.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  mehari_control head;
  char text[MEHARI_CONTROL_TEXT + 1];
  int files[2];
  size_t file_count;
} message;

static int control_socket = -1;
static int stem = -1; /* our end of the socket on which workers ask for templates */
static int ends = -1; /* the descriptor that reports the end of a child */

static void report(uint32_t kind, uint32_t slot, pid_t pid, int status, const char *text, size_t length)
{
  struct { mehari_control head; char text[MEHARI_CONTROL_TEXT]; } out;
  if (length > sizeof out.text)
    length = sizeof out.text;
  out.head = (mehari_control){kind, slot, pid, status, length};
  memcpy(out.text, text, length);
  if (send(control_socket, &out, sizeof out.head + length, MSG_NOSIGNAL) < 0)
    _exit(0);
}

void mehari_zygote_report(const mehari_control *head, const char *text) { report(head->kind, head->slot, head->pid, head->status, text, head->length); }

static bool receive(int socket, message *in)
{
  struct iovec parts[] = {{&in->head, sizeof in->head}, {in->text, MEHARI_CONTROL_TEXT}};
  union { struct cmsghdr header; char space[CMSG_SPACE(2 * sizeof(int))]; } control;
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2, .msg_control = control.space, .msg_controllen = sizeof control.space};
  ssize_t got;
  do
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  in->file_count = 0;
  if (got < (ssize_t)sizeof in->head)
    return false;
  size_t length = got - sizeof in->head;
  in->text[length] = '\0';
  in->head.length = length;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS) {
    in->file_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    if (in->file_count > C_ARRAY_LENGTH(in->files))
      in->file_count = C_ARRAY_LENGTH(in->files);
    memcpy(in->files, CMSG_DATA(header), in->file_count * sizeof(int));
  }
  return true;
}

/* ---- preloading ---- */

/* Collects the parts of a long text until the last has arrived. */
static SV *gather(pTHX_ message *in)
{
  static SV *gathered;
  if (!gathered)
    gathered = newSVpvs("");
  sv_catpvn(gathered, in->text, in->head.length);
  if (in->head.status)
    return NULL;
  SV *whole = gathered;
  gathered = NULL;
  return whole;
}

typedef struct {
  uint32_t manner;
  SV *text;
  bool failed;
} preloading;

static void preload(pTHX_ void *argument)
{
  preloading *this = argument;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  mXPUSHu(this->manner);
  XPUSHs(this->text);
  PUTBACK;
  call_pv("Mehari::Zygote::preload", G_VOID | G_DISCARD | G_EVAL);
  this->failed = SvTRUE(ERRSV);
  prctl(PR_SET_NAME, "mehari-zygote"); /* what is preloaded finds a $0 of its own, and so changes it */
  if (!this->failed)
    mehari_cgi_loaded(aTHX);
  FREETMPS;
  LEAVE;
}

static void run_preload(pTHX_ message *in)
{
  static uint32_t count;
  SV *whole = gather(aTHX_ in);
  if (!whole)
    return;
  count++;
  preloading this = {in->head.slot, whole, false};
  mehari_outcome outcome = mehari_guard(aTHX_ preload, &this, NULL);
  SvREFCNT_dec(whole);
  if (outcome == MEHARI_EXITED)
    report(MEHARI_CONTROL_FAILED, count, 0, 0, "it called exit", 14);
  else if (this.failed) {
    STRLEN length;
    const char *text = SvPV(ERRSV, length);
    report(MEHARI_CONTROL_FAILED, count, 0, 0, text, length);
  }
}

static void learn_server(pTHX_ message *in)
{
  SV *whole = gather(aTHX_ in);
  if (!whole)
    return;
  mehari_server_set_settings(aTHX_ in->head.slot, (mehari_text){SvPVX(whole), SvCUR(whole)});
  SvREFCNT_dec(whole);
}

/* Takes the configuration as it was read, for Apache2::Directive. */
static void learn_tree(pTHX_ message *in)
{
  SV *whole = gather(aTHX_ in);
  if (whole)
    (void)hv_stores(get_hv("Mehari::Server::fact", GV_ADD), "tree", whole);
}

/* Runs the handlers that may still refuse, after everything has loaded. */
static void run_last_phases(pTHX)
{
  static const int phases[] = {MEHARI_PHASE_OPEN_LOGS, MEHARI_PHASE_POST_CONFIG};
  for (size_t i = 0; i < C_ARRAY_LENGTH(phases); i++) {
    const char *refusal = mehari_run_server_phase(aTHX_ phases[i]);
    if (refusal)
      report(MEHARI_CONTROL_FAILED, 0, 0, 0, refusal, strlen(refusal));
  }
}

/* Reports the handlers that start-up code pushed. The front merges them with the configured
 * handlers. A code reference is named by its place in the file. */
static void report_pushed(pTHX)
{
  for (uint32_t number = 0; number < mehari_server_count(); number++)
    for (int phase = 0; mehari_server(number) && phase < MEHARI_PHASE_CHILD_INIT; phase++) {
      const mehari_settings *server = mehari_server(number);
      if (!server->is_changed[phase])
        continue;
      SV *text = newSVpvn_flags(mehari_phases[phase].name, strlen(mehari_phases[phase].name), SVs_TEMP);
      for (SSize_t i = 0; i <= av_top_index(server->handlers[phase]); i++) {
        SV *handler = AvARRAY(server->handlers[phase])[i];
        sv_catpvn(text, "", 1);
        if (SvROK(handler))
          sv_catpvf(text, "&%u:%s:%d", (unsigned)number, mehari_phases[phase].name, (int)i);
        else
          sv_catsv(text, handler);
      }
      report(MEHARI_CONTROL_PUSHED, number, 0, 0, SvPVX(text), SvCUR(text));
    }
}

/* Reports the files that `--watch` watches. */
static void report_loaded(pTHX_ void *argument)
{
  PERL_UNUSED_ARG(argument);
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  PUTBACK;
  int count = call_pv("Mehari::Zygote::own_files", G_LIST | G_EVAL);
  SPAGAIN;
  for (int i = 0; i < count; i++) {
    STRLEN length;
    const char *path = SvPV(SP[-i], length);
    report(MEHARI_CONTROL_LOADED, 0, 0, 0, path, length);
  }
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
}

/* ---- workers ---- */

/* The process numbers of workers, whose ends the front must know. The end of a template is not
 * reported, because a template ends with its worker. */
static pid_t *workers;
static int worker_count;

static void remember_worker(pid_t worker)
{
  Renew(workers, worker_count + 1, pid_t);
  workers[worker_count++] = worker;
}

static bool forget_worker(pid_t worker)
{
  for (int i = 0; i < worker_count; i++)
    if (workers[i] == worker) {
      workers[i] = workers[--worker_count];
      return true;
    }
  return false;
}

static void become_serving_process(void)
{
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  close(control_socket);
  close(stem);
  close(ends);
}

/* Handles a worker's request for a template, with the template's descriptors. */
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
  if (!fork()) {
    become_serving_process();
    close(mehari_stem_socket);
    setpgid(0, request.wanted.worker);
    mehari_template_run(aTHX_ request.file, &request.wanted, files, bell, bell_event);
  }
  mehari_in_child = false;
  for (int i = 0; i < MEHARI_TEMPLATE_FILES; i++)
    close(files[i]);
}

static void fork_worker(pTHX_ message *in, int bell, int bell_event)
{
  if (in->file_count != 2)
    return;
  PerlIO_flush((PerlIO *)NULL);
  pid_t worker = fork();
  if (!worker) {
    become_serving_process();
    mehari_worker_run(aTHX_ in->files[0], in->files[1], bell, bell_event);
  }
  close(in->files[0]);
  close(in->files[1]);
  mehari_in_child = false;
  if (worker > 0)
    remember_worker(worker);
  const char *reason = worker < 0 ? strerror(errno) : "";
  report(MEHARI_CONTROL_FORKED, in->head.slot, worker, 0, reason, strlen(reason));
}

/* Its process needs the control socket for the answer. */
static void fork_explainer(pTHX_ message *in, int bell, int bell_event)
{
  SV *file = gather(aTHX_ in);
  if (!file)
    return;
  PerlIO_flush((PerlIO *)NULL);
  mehari_explanation_fork(aTHX_ SvPV_nolen(file), in->head.slot, (int[]){control_socket, stem, ends, mehari_stem_socket, bell, bell_event}, 6);
  mehari_in_child = false;
  SvREFCNT_dec(file);
}

static void reap(void)
{
  int status;
  pid_t worker;
  while ((worker = waitpid(-1, &status, WNOHANG)) > 0)
    if (!forget_worker(worker)) {
      mehari_pictures_release(worker);
      mehari_explanation_ended(worker, status);
    } else
      report(MEHARI_CONTROL_ENDED, 0, worker, status, "", 0);
}

static bool is_worker(pid_t process)
{
  for (int i = 0; i < worker_count; i++)
    if (workers[i] == process)
      return true;
  return false;
}

/* Kills the processes of the rung `fork`, which lead their own groups. Their parents are in
 * their worker's group. */
static void kill_groups_below(void)
{
  DIR *all = opendir("/proc");
  struct dirent *each;
  while (all && (each = readdir(all))) {
    pid_t process = atoi(each->d_name);
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    int file = process > 1 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
      close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *end_of_name = strrchr(text, ')');
    int parent, group;
    if (end_of_name && sscanf(end_of_name, ") %*c %d %d", &parent, &group) == 2 && group == process && is_worker(getpgid(parent)))
      kill(-process, SIGKILL);
  }
  if (all)
    closedir(all);
}

/* Ends the zygote after the front has ended. Idle workers notice the front's end themselves, but
 * a busy worker may never look. */
static void leave(void) __attribute__((noreturn));
static void leave(void)
{
  kill_groups_below();
  for (int i = 0; i < worker_count; i++)
    kill(-workers[i], SIGKILL);
  _exit(0);
}

static void unwind(pTHX_ void *argument)
{
  PERL_UNUSED_ARG(argument);
  my_exit(0);
}

/* Restores the default of signals that the server's starter ignores (nohup), because scripts
 * expect it. */
static void heed_signals(void)
{
  static const int heeded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};
  for (size_t i = 0; i < C_ARRAY_LENGTH(heeded); i++) {
    struct sigaction now;
    if (sigaction(heeded[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN)
      signal(heeded[i], SIG_DFL);
  }
}

void mehari_zygote_run(pTHX_ int control, int bell, int bell_event)
{
  heed_signals();
  int const inherited[] = {control, bell, bell_event};
  for (size_t i = 0; i < C_ARRAY_LENGTH(inherited); i++)
    fcntl(inherited[i], F_SETFD, FD_CLOEXEC);
  control_socket = control;
  prctl(PR_SET_NAME, "mehari-zygote");
  /* Leaves the frames of the calling Perl, as exit does. From here on the stack is ours. */
  mehari_guard(aTHX_ unwind, NULL, NULL);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
    _exit(1);
  stem = pair[0];
  mehari_stem_socket = pair[1];
  message in;
  mehari_pages_align();
  mehari_pictures_open();
  for (;;) {
    struct pollfd waits[] = {{.fd = control, .events = POLLIN}, {.fd = ends, .events = POLLIN}, {.fd = stem, .events = POLLIN}};
    if (poll(waits, 3, -1) < 0 && errno != EINTR)
      _exit(1);
    if (waits[2].revents)
      fork_template(aTHX_ bell, bell_event);
    if (waits[1].revents) {
      struct signalfd_siginfo seen;
      (void)!read(ends, &seen, sizeof seen);
      reap();
    }
    if (!waits[0].revents)
      continue;
    if (!receive(control, &in))
      leave();
    switch (in.head.kind) {
    case MEHARI_CONTROL_PRELOAD:
      run_preload(aTHX_ &in);
      break;
    case MEHARI_CONTROL_SERVER:
      learn_server(aTHX_ &in);
      break;
    case MEHARI_CONTROL_TREE:
      learn_tree(aTHX_ &in);
      break;
    case MEHARI_CONTROL_READY:
      if (ends < 0) {
        sigprocmask(SIG_BLOCK, &children, NULL);
        ends = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
        mehari_pages_enlarge();
      }
      if (!in.head.slot)
        run_last_phases(aTHX);
      report_pushed(aTHX);
      mehari_guard(aTHX_ report_loaded, NULL, NULL);
      report(MEHARI_CONTROL_READY, 0, getpid(), 0, "", 0);
      break;
    case MEHARI_CONTROL_EXPLAIN:
      fork_explainer(aTHX_ &in, bell, bell_event);
      break;
    case MEHARI_CONTROL_FORK:
      fork_worker(aTHX_ &in, bell, bell_event);
      break;
    }
  }
}
