/* Detects a script's changes of its process through subs of libraries: descriptors by number,
 * timers, the signal mask, limits, the process itself. The subs are wrapped when their library
 * is loaded, so requests without the library pay nothing. After the request the changes are
 * undone, or the worker retires. */
#include "process/process.h"
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "mailbox/mailbox.h"
#include "stdio/standard.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

MEHARI_WRITTEN unsigned mehari_touched;

/* ---- the process's own descriptors ---- */

#define NUMBERS 1024
MEHARI_LARGE static struct { bool claimed; int flags; dev_t device; ino_t inode; } own[NUMBERS];
static int highest = -1;

void mehari_descriptor_claim(int file)
{
  struct stat now;
  if (file < 3 || file >= NUMBERS || fstat(file, &now) < 0)
    return;
  own[file].claimed = true;
  own[file].flags = fcntl(file, F_GETFL);
  own[file].device = now.st_dev;
  own[file].inode = now.st_ino;
  if (file > highest)
    highest = file;
}

void mehari_descriptor_release(int file)
{
  if (file >= 0 && file < NUMBERS)
    own[file].claimed = false;
}

void mehari_descriptors_leave(const int *files, size_t count)
{
  struct stat now;
  for (int file = 3; file <= highest; file++) {
    bool is_ours = own[file].claimed && fstat(file, &now) == 0 && now.st_dev == own[file].device && now.st_ino == own[file].inode;
    bool is_listed = false;
    for (size_t i = 0; i < count; i++)
      is_listed |= files[i] == file;
    if (is_ours && (S_ISSOCK(now.st_mode) || is_listed)) {
      close(file);
      own[file].claimed = false;
    }
  }
}

static bool is_own(IV file) { return file >= 0 && file < NUMBERS && own[file].claimed; }
bool mehari_descriptor_is_own(int file) { return is_own(file); }

static bool all_are_there(void)
{
  struct stat now;
  for (int file = 0; file <= highest; file++)
    if (own[file].claimed && (fstat(file, &now) < 0 || now.st_dev != own[file].device || now.st_ino != own[file].inode))
      return false;
  return true;
}

/* ---- the subs ---- */

static struct {
  const char *name;
  unsigned touches;
  int number; /* the argument that names the descriptor to close; -1: none */
  CV *code;
  XSUBADDR_t original;
} subs[] = {
  {"POSIX::close", MEHARI_TOUCHED_DESCRIPTORS, 0, NULL, NULL},
  {"POSIX::dup2", MEHARI_TOUCHED_DESCRIPTORS, 1, NULL, NULL},
  {"POSIX::open", MEHARI_TOUCHED_FILES, -1, NULL, NULL},
  {"POSIX::creat", MEHARI_TOUCHED_FILES, -1, NULL, NULL},
  {"POSIX::dup", MEHARI_TOUCHED_FILES, -1, NULL, NULL},
  {"POSIX::pipe", MEHARI_TOUCHED_FILES, -1, NULL, NULL},
  {"POSIX::read", 0, -1, NULL, NULL},
  {"IO::Handle::blocking", MEHARI_TOUCHED_FLAGS, -1, NULL, NULL},
  {"POSIX::sigprocmask", MEHARI_TOUCHED_MASK, -1, NULL, NULL},
  {"POSIX::sigaction", MEHARI_TOUCHED_MASK, -1, NULL, NULL},
  {"POSIX::setsid", MEHARI_TOUCHED_PROCESS, -1, NULL, NULL},
  {"POSIX::setpgid", MEHARI_TOUCHED_PROCESS, -1, NULL, NULL},
  {"POSIX::setuid", MEHARI_TOUCHED_PROCESS, -1, NULL, NULL},
  {"POSIX::setgid", MEHARI_TOUCHED_PROCESS, -1, NULL, NULL},
  {"POSIX::nice", MEHARI_TOUCHED_PROCESS, -1, NULL, NULL},
  {"Time::HiRes::setitimer", MEHARI_TOUCHED_TIMERS, -1, NULL, NULL},
  {"Time::HiRes::ualarm", MEHARI_TOUCHED_TIMERS, -1, NULL, NULL},
  {"Time::HiRes::alarm", MEHARI_TOUCHED_TIMERS, -1, NULL, NULL},
  {"BSD::Resource::_setrlimit", MEHARI_TOUCHED_LIMITS, -1, NULL, NULL},
  {"BSD::Resource::_setpriority", MEHARI_TOUCHED_PROCESS, -1, NULL, NULL},
  {"threads::create", MEHARI_TOUCHED_THREADS, -1, NULL, NULL},
};

/* Returns the number of a descriptor that is an argument. -1: there is none. */
static IV number_of(pTHX_ int argument)
{
  SSize_t count;
  SV **arguments = mehari_arguments(aTHX_ &count);
  return argument >= 0 && argument < count && SvOK(arguments[argument]) && looks_like_number(arguments[argument]) ? SvIV(arguments[argument]) : -1;
}

/* Whether the running sub is the sub at this place of the list. In a thread the sub is a copy,
 * which is recognised by its name. */
static bool is_sub(pTHX_ size_t at, CV *code)
{
  return mehari_in_thread(aTHX) ? get_cv(subs[at].name, 0) == code : subs[at].code == code;
}

/* The handle of this descriptor reads or writes what the descriptor now is. */
static void follow_descriptor(pTHX_ IV number)
{
  GV *gv = number == 0 ? PL_stdingv : gv_fetchpv(number == 1 ? "STDOUT" : "STDERR", GV_ADD, SVt_PVIO);
  IO *io = GvIO(gv);
  if (!io)
    return;
  mehari_output_reopened(aTHX_ io);
  mehari_input_reopened(aTHX_ io);
  mehari_errors_reopened(aTHX_ io);
}

static void watched(pTHX_ CV *code)
{
  size_t at = 0;
  while (at < C_ARRAY_LENGTH(subs) && !is_sub(aTHX_ at, code))
    at++;
  if (at == C_ARRAY_LENGTH(subs))
    croak("%s is a copy of a sub that the server does not know", GvNAME(CvGV(code)));
  IV closed = number_of(aTHX_ subs[at].number);
  if (mehari_serving && number_of(aTHX_ 0) == 0)
    mehari_input_spill();
  if (mehari_serving && !mehari_in_child) {
    /* For the script the server's descriptors are not open, as in a fresh process. */
    if (is_own(closed)) {
      dXSARGS;
      PERL_UNUSED_VAR(items);
      SETERRNO(EBADF, 0);
      XSRETURN_UNDEF;
    }
    if (subs[at].touches & MEHARI_TOUCHED_THREADS && !mehari_in_thread(aTHX))
      mehari_stdout_share(aTHX);
    mehari_touched |= subs[at].touches;
  }
  subs[at].original(aTHX_ code);
  if (mehari_serving && closed >= 0 && closed <= 2)
    follow_descriptor(aTHX_ closed);
}

/* Called after a file was loaded, because it may define one of the wrapped subs. */
void mehari_watch_loaded(pTHX)
{
  for (size_t i = 0; i < C_ARRAY_LENGTH(subs); i++) {
    CV *code = subs[i].code ? NULL : get_cv(subs[i].name, 0);
    if (!code || !CvISXSUB(code))
      continue;
    subs[i].code = (CV *)SvREFCNT_inc_simple_NN((SV *)code);
    subs[i].original = CvXSUB(code);
    CvXSUB(code) = watched;
  }
}

/* ---- putting back ---- */

static sigset_t mask_at_start;
static struct rlimit limits_at_start[RLIM_NLIMITS];

void mehari_watch_open(void)
{
  pthread_sigmask(SIG_BLOCK, NULL, &mask_at_start);
  for (int i = 0; i < RLIM_NLIMITS; i++)
    getrlimit(i, &limits_at_start[i]);
}

static bool restore_limits(void)
{
  struct rlimit now;
  bool restored = true;
  for (int i = 0; i < RLIM_NLIMITS; i++)
    if (getrlimit(i, &now) == 0 && memNE(&now, &limits_at_start[i], sizeof now))
      restored &= setrlimit(i, &limits_at_start[i]) == 0;
  return restored;
}

static void stop_timers(void)
{
  static const struct itimerval none;
  for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++)
    setitimer(which, &none, NULL);
}

static void retire(const char *why)
{
  mehari_text task = mehari_request_text(MEHARI_TEXT_TASK);
  mehari_logf(MEHARI_LOG_WARN, "%.*s %s: its worker is replaced", (int)task.length, task.at, why);
  mehari_retire = true;
}

/* Whether the process can open one more file. */
static bool has_descriptor_left(void)
{
  int probe = fcntl(1, F_DUPFD_CLOEXEC, 3);
  if (probe >= 0)
    close(probe);
  return probe >= 0 || errno != EMFILE;
}

/* A template and its children share the files of the standard handles, and with a file its
 * flags. */
void mehari_watch_put_back_flags(void)
{
  for (int file = 3; file <= highest; file++)
    if (own[file].claimed)
      fcntl(file, F_SETFL, own[file].flags);
}

/* Undoes the changes. Descriptors 0, 1 and 2 are restored by the layers, which must learn of a
 * change first. */
void mehari_watch_put_back(void)
{
  if (mehari_touched & MEHARI_TOUCHED_FLAGS)
    mehari_watch_put_back_flags();
  if (mehari_touched & MEHARI_TOUCHED_MASK)
    pthread_sigmask(SIG_SETMASK, &mask_at_start, NULL);
  if (mehari_touched & MEHARI_TOUCHED_TIMERS)
    stop_timers();
  if (mehari_touched & MEHARI_TOUCHED_LIMITS && !restore_limits())
    retire("lowered a limit that cannot be raised again");
  if (mehari_touched & MEHARI_TOUCHED_PROCESS)
    retire("changed the session, group, root, user or priority of its process");
  if (mehari_touched & MEHARI_TOUCHED_THREADS && mehari_threads_are_left())
    retire("left a thread running");
  if (mehari_touched & (MEHARI_TOUCHED_DESCRIPTORS | MEHARI_TOUCHED_THREADS) && !all_are_there())
    retire("closed descriptors that are not its own");
  if (mehari_touched & (MEHARI_TOUCHED_FILES | MEHARI_TOUCHED_DESCRIPTORS) && !has_descriptor_left())
    retire("left no descriptor unused");
  mehari_touched = 0;
}
