/* Restores a process after each request, so that the process serves one request after another.
 * process/template.c calls this file.
 *
 * The response and its DONE are sent before anything is restored, so no client waits for the
 * restoration. If something cannot be restored, the process ends, and the template forks the next
 * one in the original state. */
#include "rewind/rewind.h"
#include "rewind/state.h"
#include "mailbox/mailbox.h"
#include "response/response.h"
#include "process/process.h"
#include "interpreter/perl_internals.h"
#include "script/script.h"
#include <gnu/libc-version.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __GLIBC_PREREQ(2, 35)
#include <sys/rseq.h>
#endif

static mehari_rewind *own;
static uint32_t picture_pages; /* `own->pages`, in memory that no child can change */
static SV *handlers[SIG_SIZE]; /* handlers of %SIG at the time of the picture */
static bool is_refused_by_machine;

/* ---- the template ---- */

/* Returns the reason why no process can be rewound on this machine, or NULL. */
static const char *refusal_of_machine(void)
{
#ifndef __x86_64__
  return "there is no code for this processor";
#else
  return sysconf(_SC_PAGESIZE) == (long)MEHARI_PAGE ? NULL : "pages are not of 4 KiB here";
#endif
}

/* Returns the reason why this process cannot be rewound, or NULL. */
static const char *impossible(void)
{
  const char *refusal = refusal_of_machine();
  is_refused_by_machine = refusal != NULL;
  if (refusal)
    return refusal;
  struct rlimit time;
  if (getrlimit(RLIMIT_CPU, &time) == 0 && time.rlim_cur != RLIM_INFINITY)
    return "there is a limit of CPU time, which is a process's and not a request's";
  return NULL;
}

static const char *make_room(void)
{
  const char *refusal = impossible();
  if (refusal)
    return refusal;
  own = mmap(NULL, sizeof *own, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return own == MAP_FAILED ? "no shared memory can be had" : NULL;
}

static uint64_t most_pages(pTHX_ bool where_room)
{
  return where_room ? SvUV(mehari_fact(aTHX_ "picture_bytes")) / MEHARI_PAGE : UINT64_MAX;
}

void mehari_rewind_prepare(pTHX_ bool where_room)
{
  static bool has_tried[2];
  if (has_tried[where_room] || mehari_rewind_base() || impossible())
    return;
  has_tried[where_room] = true;
  mehari_rewind_take_base(aTHX_ most_pages(aTHX_ where_room));
}

const char *mehari_rewind_open(pTHX_ bool where_room)
{
  const char *refusal = make_room();
  if (refusal)
    return refusal;
  own->compares = SvTRUE(mehari_fact(aTHX_ "compare"));
  own->owner = getpid();
  own->most_pages = most_pages(aTHX_ where_room);
  own->arguments = (uint64_t)(uintptr_t)mehari_command_line(aTHX) & ~(MEHARI_PAGE - 1);
  mehari_rewind_watch_pid(aTHX_ own);
  mehari_rewind_watch_variables(aTHX);
  mehari_rewind_watch_handlers(aTHX_ own);
  mehari_watch_loaded(aTHX);
  own->reach = mehari_rewind_reach();
  mehari_rewind_note_dearest(own);
  mehari_destructors_note_names(aTHX);
  mehari_rewind_tidy(aTHX_ true);
  own->picture = mehari_rewind_make_file();
  refusal = mehari_rewind_lay_out(own);
  picture_pages = own->pages;
  if (!refusal)
    mehari_rewind_on_own_stack(mehari_rewind_take, own);
  refusal = own->spoiled[0] ? own->spoiled : refusal;
  if (refusal)
    mehari_rewind_drop_file(own);
  return refusal;
}

const char *mehari_rewind_examine(void) { return mehari_rewind_open_files(own); }
void mehari_rewind_explain(mehari_tell *tell) { mehari_rewind_tell_checks(own, tell); }
uint32_t mehari_rewind_pages(void) { return own->pages_held; }
uint32_t mehari_rewind_shared_pages(void) { return own->pages_shared; }
const char *mehari_rewind_refusal(void) { return own->spoiled[0] ? own->spoiled : NULL; }
bool mehari_rewind_is_sound(void) { return picture_pages && own->pages == picture_pages && own->range_count; }
bool mehari_rewind_has_rewound(void) { return own->rewinds > 0; }
bool mehari_rewind_was_refused(void) { return own->refused; }
bool mehari_rewind_is_refused_here(void)
{
  return is_refused_by_machine || (own && own != MAP_FAILED && own->is_refused_by_kernel);
}

/* ---- its child ---- */

static void reset(void)
{
  if (own->spoiled[0]) {
    memcpy(own->replaced_for, own->spoiled, sizeof own->replaced_for);
    own->replaced++;
  }
  for (uint32_t page = 0; page < own->pages; page++)
    own->state[page] &= MEHARI_PAGE_ZERO | MEHARI_PAGE_BASE;
  own->hot_count = own->run_count = own->own_count = 0;
  own->rewinds = own->looks = own->cold = own->repairs = own->wrong_pages = 0;
  own->spoiled[0] = own->loaded[0] = '\0';
}

/* Notes which descriptors perl's handles hold. False: there are too many. */
static bool see_held(mehari_rewind *into)
{
  const int *held = mehari_held_descriptors(&into->held_count);
  if (into->held_count > MEHARI_REWIND_HELD)
    return false;
  for (int i = 0; i < into->held_count; i++)
    into->held[i] = held[i];
  return true;
}

/* Whether perl's handles hold other descriptors than before. */
static bool handles_differ(pTHX)
{
  int count;
  const int *held = mehari_held_descriptors(&count);
  return mehari_perl_has_ended(aTHX) || count != own->held_count || memNE(held, own->held, count * sizeof *held);
}

static void see_rseq(void)
{
  own->rseq = 0;
  own->rseq_length = 0;
#if __GLIBC_PREREQ(2, 35)
  if (!__rseq_size)
    return;
  own->rseq = (uint64_t)(uintptr_t)__builtin_thread_pointer() + __rseq_offset;
  own->rseq_length = __rseq_size > 32 ? __rseq_size : 32;
  /* The page belongs to this process from the start. */
  struct rseq *area = (struct rseq *)own->rseq;
  *(volatile uint64_t *)&area->rseq_cs = 0;
#endif
}

/* ---- what `mehari status` shows ---- */

static void tell(mehari_text file, const char *text)
{
  mehari_text parts[] = {file, {text, strlen(text)}};
  if (file.length + parts[1].length < MEHARI_RECORD_LIMIT)
    mehari_ring_put(MEHARI_RECORD_RUNG, 0, parts, 2);
}

void mehari_rewind_report(mehari_text file)
{
  char text[768], checks[160];
  uint64_t count = own->rewinds + 1;
  if (count & (count - 1) && count % 1024)
    return;
  mehari_rewind_write_checks(own, checks, sizeof checks);
  snprintf(text, sizeof text, "\trewind\t%u\t%u\t%u\t%llu\t%llu\t%u\t%s\t%s\t%s\t%s", (unsigned)own->pages_shared,
           (unsigned)(own->pages_held + own->own_count), (unsigned)own->hot_count, (unsigned long long)own->rewinds, (unsigned long long)own->looks, (unsigned)own->replaced, checks, own->dearest, own->loaded, own->replaced_for);
  tell(file, text);
}

void mehari_rewind_report_refusal(mehari_text file, const char *why)
{
  char text[512];
  snprintf(text, sizeof text, "\tfork\t0\t0\t0\t0\t0\t0\t\t\t\t%s", why);
  tell(file, text);
}

static void give_up(const char *why) __attribute__((noreturn));
static void give_up(const char *why)
{
  mehari_rewind_refuse(own, why);
  own->refused = true;
  _exit(1);
}

static void report_wrong_pages(void)
{
  if (!own->wrong_pages)
    return;
  mehari_logf(MEHARI_LOG_ERROR, "rewind: %llu pages are not as they were, one of them at %llx", (unsigned long long)own->wrong_pages,
              (unsigned long long)own->wrong_at);
  give_up("its memory was not put back");
}

/* Begins the serving of requests. This function returns once, and again after each request. */
void mehari_rewind_begin(pTHX)
{
  reset();
  own->child = getpid();
  mehari_key_guard(own, sizeof *own);
  mehari_pictures_guard();
  madvise(own, sizeof *own, MADV_DONTFORK);
  madvise((void *)own->image, own->pages * MEHARI_PAGE, MADV_DONTFORK);
  const mehari_rewind *base = mehari_rewind_base();
  if (base)
    madvise((void *)base->image, base->pages * MEHARI_PAGE, MADV_DONTFORK);
  const char *refusal = mehari_rewind_open_files(own);
  if (refusal)
    give_up(refusal);
  if ((uint64_t)(uintptr_t)sbrk(0) != own->brk)
    give_up("the template's memory has grown");
  for (int i = 0; i < SIG_SIZE; i++)
    handlers[i] = mehari_signal_handler(aTHX_ i);
  see_rseq();
  mehari_touched &= ~MEHARI_TOUCHED_FILES; /* all files of this time are known */
  if (!see_held(own))
    own->reach |= MEHARI_REACH_FILES;
  own->reach |= mehari_rewind_forget_calls() & MEHARI_REACH_ALL;
  own->libraries = mehari_rewind_libraries();
  mehari_rewind_note_process(own);
  mehari_rewind_mark(own, mehari_rewind_note_difference);
  if (own->spoiled[0])
    give_up(own->spoiled);
  report_wrong_pages();
}

/* Notes the signals that the script may have changed. perl keeps the value of each element of %SIG
 * that has been set and not deleted. /proc does not show signals above 31. */
static void see_handlers(pTHX)
{
  bool unknown = mehari_perl_has_ended(aTHX) || mehari_touched & MEHARI_TOUCHED_MASK || own->doubts == MEHARI_REACH_ALL;
  for (int i = 1; i < SIG_SIZE && i <= MEHARI_REWIND_SIGNALS; i++)
    if (unknown ? i > 31 : handlers[i] || mehari_signal_handler(aTHX_ i))
      own->doubtful_signals |= UINT64_C(1) << (i - 1);
  if (own->doubtful_signals || unknown || mehari_rewind_changed_handlers(aTHX_ own))
    own->doubts |= MEHARI_REACH_SIGNALS;
}

/* Notes what the request may have changed: what its libraries are able to change unnoticed, and
 * what their watched calls, its operators and its watched subs have changed. */
static void see_doubts(pTHX)
{
  own->doubts = own->reach | (mehari_rewind_called() & MEHARI_REACH_ALL);
  if (mehari_rewind_libraries() != own->libraries) {
    own->doubts = MEHARI_REACH_ALL;
    if (!own->loaded[0])
      mehari_rewind_last_library(own->loaded, sizeof own->loaded);
  }
  if (mehari_touched & MEHARI_TOUCHED_TIMERS)
    own->doubts |= MEHARI_REACH_TIMERS | MEHARI_REACH_SIGNALS;
  if (mehari_touched & MEHARI_TOUCHED_THREADS)
    own->doubts |= MEHARI_REACH_THREADS | MEHARI_REACH_FILES;
  if (mehari_may_have_spawned)
    own->doubts |= MEHARI_REACH_CHILDREN | MEHARI_REACH_SIGNALS;
  if (mehari_directory_changed || mehari_umask_changed)
    own->doubts |= MEHARI_REACH_FOLDER;
  own->doubts |= mehari_perl_has_ended(aTHX) ? MEHARI_REACH_NAME | MEHARI_REACH_USER : mehari_rewind_changed_variables(aTHX);
  own->has_moved_break = (uint64_t)(uintptr_t)sbrk(0) != own->brk; /* malloc moves it by sbrk only */
  if (mehari_touched & (MEHARI_TOUCHED_FILES | MEHARI_TOUCHED_DESCRIPTORS) || mehari_may_have_spawned || !mehari_is_program || handles_differ(aTHX))
    own->doubts |= MEHARI_REACH_FILES;
  see_handlers(aTHX);
}

static void put_back(mehari_rewind *this)
{
  uint64_t all = ~UINT64_C(0);
  KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
  mehari_rewind_put_back_files(this);
  mehari_rewind_put_back_process(this);
  bool looks = mehari_rewind_looks(this);
  mehari_rewind_put_back_mappings(this, looks);
  if (!this->spoiled[0])
    mehari_rewind_put_back_memory(this, looks);
  if (this->spoiled[0])
    KERNEL(SYS_exit_group, 0);
  KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, &this->signal_mask, NULL, 8);
  mehari_rewind_return(this);
}

void mehari_rewind_end(pTHX)
{
  if ((own->reach | mehari_rewind_called()) & MEHARI_REACH_CHILDREN && getpid() != own->child) /* a process that a library made unnoticed */
    _exit(0);
  if (mehari_touched & (MEHARI_TOUCHED_PROCESS | MEHARI_TOUCHED_LIMITS))
    mehari_rewind_refuse(own, "it changed limits or the standing of its process, or called the kernel itself");
  if (mehari_touched & MEHARI_TOUCHED_KERNEL || mehari_rewind_called() & MEHARI_REACH_LASTING)
    mehari_rewind_refuse(own, "it wrote to /proc, or changed what the kernel restores only at the end of a process");
  if (mehari_touched & MEHARI_TOUCHED_DESCRIPTORS)
    own->doubtful_files = true;
  see_doubts(aTHX);
  mehari_rewind_on_own_stack(put_back, own);
  _exit(1);
}
