/* Restores the kernel's state of a process besides memory and descriptors. If some state cannot be
 * restored, the process ends and reports the reason. State that neither a loaded library nor a
 * watched operator of the request can have changed is left alone (`doubts`). State that is cheap to
 * set is set without a check. */
#include "rewind/state.h"
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static uint64_t bit(int signal) { return UINT64_C(1) << (signal - 1); }

static void see_users(mehari_users *users)
{
  uint32_t *ids = users->ids;
  KERNEL(SYS_getresuid, &ids[0], &ids[1], &ids[2]);
  KERNEL(SYS_getresgid, &ids[3], &ids[4], &ids[5]);
  users->group_count = KERNEL(SYS_getgroups, MEHARI_REWIND_GROUPS, users->groups);
}

static bool are_same_users(const mehari_users *a, const mehari_users *b)
{
  bool are_same = a->group_count >= 0 && a->group_count == b->group_count && memcmp(a->ids, b->ids, sizeof a->ids) == 0;
  return are_same && memcmp(a->groups, b->groups, a->group_count * sizeof *a->groups) == 0;
}

/* Whether the kernel would let the process become another user. */
static bool may_change_user(const uint32_t users[6])
{
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct parts[2] = {{0}};
  bool one_user = users[0] == users[1] && users[0] == users[2], one_group = users[3] == users[4] && users[3] == users[5];
  long failed = KERNEL(SYS_capget, &header, parts);
  return failed || !one_user || !one_group || parts[0].permitted & (1u << CAP_SETUID | 1u << CAP_SETGID);
}

/* Returns the number of threads, plus a constant. */
static uint64_t count_threads(mehari_rewind *rewind)
{
  struct stat about;
  return KERNEL(SYS_fstat, rewind->tasks, &about) == 0 ? about.st_nlink : 0;
}

/* Reads /proc/self/stat. The comments give the numbers of the fields in proc(5). */
static bool see_standing(mehari_rewind *rewind, mehari_standing *into)
{
  char text[1024];
  size_t length = mehari_proc_read_once(rewind->stat, text, sizeof text);
  const char *at = text + length, *name = text;
  while (at > text && *at != ')')
    at--;
  while (name < at && *name++ != '(')
    ;
  if (at == text)
    return false;
  for (size_t i = 0; i < sizeof into->name; i++)
    into->name[i] = name + i < at ? name[i] : '\0';
  at = mehari_proc_skip(at, 3); /* 5 */
  into->group = mehari_proc_number(&at, 10);
  into->session = mehari_proc_number(&(const char *){mehari_proc_skip(at, 1)}, 10);
  at = mehari_proc_skip(at, 14); /* 19 */
  into->priority = *at == '-' ? UINT64_MAX : mehari_proc_number(&at, 10);
  at = mehari_proc_skip(at, 1); /* 20 */
  into->threads = mehari_proc_number(&at, 10);
  at = mehari_proc_skip(at, 13); /* 33 */
  into->ignored = mehari_proc_number(&at, 10);
  at = mehari_proc_skip(at, 1);
  into->caught = mehari_proc_number(&at, 10);
  return true;
}

void mehari_rewind_note_process(mehari_rewind *rewind)
{
  KERNEL(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &rewind->signal_mask, 8);
  rewind->mode_mask = KERNEL(SYS_umask, 022);
  KERNEL(SYS_umask, rewind->mode_mask);
  see_users(&rewind->users);
  rewind->may_change_user = may_change_user(rewind->users.ids);
  rewind->caught = rewind->ignored = 0;
  for (int signal = 1; signal <= MEHARI_REWIND_SIGNALS; signal++) {
    mehari_disposition *this = &rewind->dispositions[signal - 1];
    if (KERNEL(SYS_rt_sigaction, signal, NULL, this, 8) < 0)
      continue;
    if (this->handler == (uint64_t)SIG_IGN)
      rewind->ignored |= bit(signal);
    else if (this->handler != (uint64_t)SIG_DFL)
      rewind->caught |= bit(signal);
  }
  rewind->thread_count = count_threads(rewind);
  if (!see_standing(rewind, &rewind->standing))
    mehari_rewind_refuse(rewind, "/proc/self/stat cannot be read");
}

/* ---- put back ---- */

static void put_back_handlers(mehari_rewind *rewind, uint64_t changed)
{
  for (int signal = 1; signal <= MEHARI_REWIND_SIGNALS && changed >> (signal - 1); signal++)
    if (changed & bit(signal))
      KERNEL(SYS_rt_sigaction, signal, &rewind->dispositions[signal - 1], NULL, 8);
}

static void forget_pending_signals(void)
{
  static const struct timespec at_once = {0, 0};
  uint64_t pending = 0;
  KERNEL(SYS_rt_sigpending, &pending, 8);
  while (pending && KERNEL(SYS_rt_sigtimedwait, &pending, NULL, &at_once, 8) > 0)
    ;
}

static void stop_timers(mehari_rewind *rewind)
{
  static const struct itimerval none;
  char any;
  for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++)
    KERNEL(SYS_setitimer, which, &none, NULL);
  if (rewind->timers >= 0 && KERNEL(SYS_pread64, rewind->timers, &any, 1, 0) > 0)
    mehari_rewind_refuse(rewind, "it left a timer");
}

static void reap_children(mehari_rewind *rewind)
{
  long child;
  do
    child = KERNEL(SYS_wait4, -1, NULL, WNOHANG | __WALL, NULL);
  while (child > 0);
  if (child != -ECHILD)
    mehari_rewind_refuse(rewind, "it left a process that runs on");
}

static void hold_against(mehari_rewind *rewind, const mehari_standing *now)
{
  const mehari_standing *then = &rewind->standing;
  if (now->threads != then->threads)
    mehari_rewind_refuse(rewind, "it left threads");
  if (now->session != then->session || now->group != then->group)
    mehari_rewind_refuse(rewind, "it changed its session or process group");
  if (now->priority != then->priority)
    mehari_rewind_refuse(rewind, "it changed its priority");
}

/* Checks what /proc/self/stat shows. /proc shows only the first 31 signals. `doubtful_signals` has
 * the other signals whose handlers the script changed by %SIG. */
static void put_back_standing(mehari_rewind *rewind)
{
  const mehari_standing *then = &rewind->standing;
  mehari_standing now;
  if (!see_standing(rewind, &now)) {
    mehari_rewind_refuse(rewind, "/proc/self/stat cannot be read");
    return;
  }
  hold_against(rewind, &now);
  put_back_handlers(rewind, (now.ignored ^ then->ignored) | (now.caught ^ then->caught) | rewind->doubtful_signals);
  rewind->doubtful_signals = 0;
  forget_pending_signals();
}

static void check_user(mehari_rewind *rewind)
{
  mehari_users now;
  see_users(&now);
  if (!are_same_users(&now, &rewind->users))
    mehari_rewind_refuse(rewind, "it changed its user");
}

void mehari_rewind_put_back_process(mehari_rewind *rewind)
{
  if (rewind->doubts & MEHARI_REACH_FOLDER)
    KERNEL(SYS_umask, rewind->mode_mask);
  if (rewind->doubts & MEHARI_REACH_TIMERS)
    stop_timers(rewind);
  if (rewind->doubts & MEHARI_REACH_CHILDREN)
    reap_children(rewind);
  if (rewind->doubts & (MEHARI_REACH_SIGNALS | MEHARI_REACH_STANDING))
    put_back_standing(rewind);
  else if (rewind->doubts & MEHARI_REACH_THREADS && count_threads(rewind) != rewind->thread_count)
    mehari_rewind_refuse(rewind, "it left threads");
  /* /proc does not show that one handler has replaced another. */
  if (rewind->doubts & MEHARI_REACH_SIGNALS)
    put_back_handlers(rewind, rewind->caught | rewind->ignored);
  if (rewind->doubts & MEHARI_REACH_NAME)
    KERNEL(SYS_prctl, PR_SET_NAME, rewind->standing.name);
  if (rewind->doubts & MEHARI_REACH_USER && rewind->may_change_user)
    check_user(rewind);
}
