/* Tells which state of the kernel is checked after every rewind, what demands each check, and what
 * the checks cost here, for `mehari explain` and `mehari status`. A check that no loaded library
 * demands is made only after a request that may have changed the state (rewind.c). */
#include "rewind/state.h"
#include <stdio.h>
#include <time.h>

#define ROUNDS 7 /* of which the shortest counts */
#define TIMES 40 /* the checks of a round */

static const struct { unsigned check; const char *name; } names[] = {
  {MEHARI_REACH_FILES, "descriptors"},
  {MEHARI_REACH_THREADS, "threads"},
  {MEHARI_REACH_CHILDREN, "children"},
  {MEHARI_REACH_SIGNALS, "signals"},
  {MEHARI_REACH_TIMERS, "timers"},
  {MEHARI_REACH_STANDING, "session and priority"},
  {MEHARI_REACH_FOLDER, "working directory and umask"},
  {MEHARI_REACH_NAME, "process name"},
  {MEHARI_REACH_USER, "user and groups"},
};

static const char *last_part(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void add(char *text, size_t size, const char *more)
{
  size_t length = strlen(text);
  snprintf(text + length, size - length, "%s%s", length ? ", " : "", more);
}

/* ---- what demands a check ---- */

/* The imports come a library at a time. */
typedef struct {
  const char *library;
  unsigned demanded; /* by this library so far */
  int most;
  mehari_rewind *rewind;
} dearest;

static void see_dearest(void *to, const char *library, const char *import, unsigned reach)
{
  dearest *this = to;
  (void)import;
  this->demanded = library == this->library ? this->demanded | reach : reach;
  this->library = library;
  int count = __builtin_popcount(this->demanded);
  if (count <= this->most)
    return;
  this->most = count;
  snprintf(this->rewind->dearest, sizeof this->rewind->dearest, "%s", last_part(library));
}

void mehari_rewind_note_dearest(mehari_rewind *rewind)
{
  dearest this = {.rewind = rewind};
  rewind->dearest[0] = '\0';
  mehari_rewind_each_import(see_dearest, &this);
}

void mehari_rewind_write_checks(const mehari_rewind *rewind, char *checks, size_t size)
{
  checks[0] = '\0';
  for (size_t i = 0; i < sizeof names / sizeof *names && rewind->reach != MEHARI_REACH_ALL; i++)
    if (rewind->reach & names[i].check)
      add(checks, size, names[i].name);
  if (rewind->reach == MEHARI_REACH_ALL)
    add(checks, size, "everything");
}

typedef struct {
  mehari_tell *tell;
  const char *library;
  unsigned wanted, told; /* the checks of the process, and those told of this library */
} demands;

static void see_demand(void *to, const char *library, const char *import, unsigned reach)
{
  demands *this = to;
  if (library != this->library)
    this->told = 0;
  this->library = library;
  unsigned new = reach & this->wanted & ~this->told;
  this->told |= new;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (new & names[i].check)
      this->tell("demand\t%s\t%s\t%s", names[i].name, library, import);
}

/* ---- what a check costs ---- */

static uint64_t nanoseconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Returns the shortest time of these checks, with what every rewind does. */
static uint64_t measure(mehari_rewind *rewind, unsigned checks)
{
  uint64_t least = UINT64_MAX;
  rewind->reach = checks;
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t begun = nanoseconds();
    for (int i = 0; i < TIMES; i++) {
      rewind->doubts = checks;
      mehari_rewind_put_back_files(rewind);
      mehari_rewind_put_back_process(rewind);
      mehari_rewind_looks(rewind);
    }
    uint64_t taken = (nanoseconds() - begun) / TIMES;
    least = taken < least ? taken : least;
  }
  return least;
}

static unsigned long more_than(uint64_t least, uint64_t taken) { return taken > least ? taken - least : 0; }

void mehari_rewind_tell_checks(mehari_rewind *rewind, mehari_tell *tell)
{
  unsigned reach = rewind->reach;
  demands all = {.tell = tell, .wanted = reach};
  mehari_rewind_note_process(rewind);
  uint64_t least = measure(rewind, 0);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (reach & names[i].check)
      tell("check\t%s\t%lu", names[i].name, more_than(least, measure(rewind, names[i].check)));
  tell("checks\t%lu", more_than(least, measure(rewind, reach)));
  rewind->reach = reach;
  mehari_rewind_each_import(see_demand, &all);
  if (rewind->foreign_file[0])
    tell("demand\tdescriptors\t%s\t", rewind->foreign_file);
}
