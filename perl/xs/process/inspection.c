/* Answers a question about this process's interpreter, for `mehari inspect` and the console. The
 * answer needs Perl code (B::Deparse, DBI), and no such code may run in a process that serves. The
 * process forks a twin, which runs Mehari::Inspect and ends.
 *
 * The twin gives up the mailbox and all descriptors, so nothing that it does reaches the process
 * that it was forked from, a client or a database. It ends without END blocks and destructors. */
#include "process/process.h"
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "response/response.h"
#include "script/script.h"
#include "stdio/standard.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 20 /* seconds */
#define ROOM ((rlim_t)512 << 20) /* bytes that the twin may allocate */
#define LEAST_PRIORITY 19
#define SHORTEST_SLICE 100000 /* nanoseconds */

/* The first version of `struct sched_attr` (sched_setattr(2)). */
typedef struct {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t slice, deadline, period;
} scheduling_attributes;

/* ---- in the twin ---- */

/* Connects to the front's socket in the abstract namespace. -1: the front waits no more. */
static int connect_to(const char *name, size_t length)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (!length || length >= sizeof address.sun_path)
    return -1;
  memcpy(address.sun_path + 1, name, length);
  int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file >= 0 && connect(file, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 1 + length) < 0) {
    close(file);
    return -1;
  }
  return file;
}

/* Puts /dev/null in the place of every descriptor, because files share their positions with the
 * original process, and a byte on a socket would reach its peer. Descriptor 2 stays the log. */
static void give_up_descriptors(int answer)
{
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  DIR *all = opendir("/proc/self/fd");
  if (null < 0 || !all)
    _exit(1);
  struct dirent *each;
  while ((each = readdir(all))) {
    int file = atoi(each->d_name);
    if (each->d_name[0] != '.' && file != 2 && file != null && file != answer && file != dirfd(all))
      dup2(null, file);
  }
  closedir(all);
}

static void limit(int what, rlim_t value)
{
  struct rlimit now;
  if (getrlimit(what, &now) == 0 && (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > value)) {
    now.rlim_cur = value;
    setrlimit(what, &now);
  }
}

static rlim_t present_size(void)
{
  unsigned long pages = 0;
  FILE *statm = fopen("/proc/self/statm", "re");
  if (statm) {
    if (fscanf(statm, "%lu", &pages) != 1)
      pages = 0;
    fclose(statm);
  }
  return (rlim_t)pages * sysconf(_SC_PAGESIZE);
}

/* Lets requests interrupt the twin at once. The policy SCHED_IDLE would do the same, but a loaded
 * machine would then never finish the twin. Before Linux 6.12 the slice has no effect. */
static void give_way(void)
{
  scheduling_attributes least = {
      .size = sizeof least, .policy = SCHED_BATCH, .nice = LEAST_PRIORITY, .slice = SHORTEST_SLICE};
  if (syscall(SYS_sched_setattr, 0, &least, 0) < 0)
    (void)!nice(LEAST_PRIORITY);
}

/* Signals have their defaults, so no handler of a script runs and the alarm ends the twin. */
static void limit_process(void)
{
  prctl(PR_SET_NAME, "mehari-twin");
  for (int i = 1; i < NSIG; i++)
    signal(i, i == SIGPIPE ? SIG_IGN : SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  give_way();
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, PATIENCE);
  limit(RLIMIT_AS, present_size() + ROOM);
  alarm(PATIENCE);
}

typedef struct {
  const char *question;
  pid_t original;
  SV *answer;
} inquiry;

static void inquire(pTHX_ void *argument)
{
  inquiry *this = argument;
  load_module(PERL_LOADMOD_NOIMPORT, newSVpvs("Mehari::Inspect"), NULL);
  dSP;
  ENTER;
  PUSHMARK(SP);
  EXTEND(SP, 2);
  mPUSHs(newSVpv(this->question, 0));
  mPUSHi(this->original);
  PUTBACK;
  int count = call_pv("Mehari::Inspect::answer", G_SCALAR | G_EVAL);
  SPAGAIN;
  if (count && !SvTRUE(ERRSV))
    this->answer = newSVsv(POPs);
  PUTBACK;
  LEAVE;
}

static void write_all(int file, const char *bytes, size_t length)
{
  while (length) {
    ssize_t written = write(file, bytes, length);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return;
    bytes += written;
    length -= written;
  }
}

static void be_twin(pTHX_ const char *order, pid_t original) __attribute__((noreturn));
static void be_twin(pTHX_ const char *order, pid_t original)
{
  limit_process();
  const char *space = strchr(order, ' ');
  int answer = space ? connect_to(order, space - order) : -1;
  if (answer < 0)
    _exit(0);
  mehari_errors_quiet(true);
  mehari_mailbox_leave();
  give_up_descriptors(answer);
  mehari_serving = false;
  PL_diehook = PL_warnhook = NULL;
  inquiry this = {space + 1, original, NULL};
  static const char failed[] = "{\"ok\":false,\"message\":\"the code that inspects failed\"}";
  mehari_guard(aTHX_ inquire, &this, NULL);
  STRLEN length = sizeof failed - 1;
  const char *bytes = this.answer ? SvPV(this.answer, length) : failed;
  write_all(answer, bytes, length);
  _exit(0);
}

/* ---- in the process that serves ---- */

/* A process between this one and the twin ends at once, so the twin is no child of this process: a
 * script's `wait` does not find it. */
void mehari_inspection_serve(pTHX)
{
  MEHARI_LARGE static char order[MEHARI_INSPECTION_SIZE];
  if (!mehari_mailbox_take_inspection(order))
    return;
  pid_t original = getpid();
  bool had_spawned = mehari_may_have_spawned;
  sigset_t child, before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, &before);
  pid_t between = mehari_fork_own();
  if (!between) {
    if (!mehari_fork_own())
      be_twin(aTHX_ order, original);
    _exit(0);
  }
  while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
    ;
  sigtimedwait(&child, NULL, &(struct timespec){0, 0});
  sigprocmask(SIG_SETMASK, &before, NULL);
  mehari_may_have_spawned = had_spawned;
}

void mehari_inspection_fork(pTHX_ const char *order)
{
  pid_t original = getpid();
  PerlIO_flush((PerlIO *)NULL);
  if (!mehari_fork_own())
    be_twin(aTHX_ order, original);
  mehari_in_child = false;
}

void mehari_inspection_boot(pTHX)
{
  mehari_registry_boot(aTHX);
  mehari_sizes_boot(aTHX);
}
