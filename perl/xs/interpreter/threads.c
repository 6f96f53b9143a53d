/* Threads that a script starts (threads.pm). perl gives each thread a copy of the whole
 * interpreter. The request, the mailbox and the C state between requests belong to the thread that
 * the server started. In a copy, the subs of the API die, tables are copies (api/table.c), and the
 * standard handles have their own descriptors (stdio/standard.c). */
#include "interpreter/interpreter.h"
#include "api/api.h"
#include <dirent.h>
#include <unistd.h>

#ifdef MULTIPLICITY
PerlInterpreter *mehari_interpreter;
#endif

static struct {
  const mehari_sub *subs;
  size_t count;
} tables[16];
static size_t table_count;

void mehari_forbid_in_threads(const mehari_sub *subs, size_t count)
{
  __typeof__(tables[0]) *place = MEHARI_NEXT(tables, table_count);
  if (!place)
    croak("threads.c has no room for another table of subs");
  place->subs = subs;
  place->count = count;
}

XS_INTERNAL(refuse)
{
  GV *name = CvGV(cv);
  croak("%s::%s is for requests, and a script's thread serves none", HvNAME(GvSTASH(name)), GvNAME(name));
}

/* Mehari->CLONE: perl calls this sub in the copied interpreter before the thread runs. */
XS_INTERNAL(in_new_thread)
{
  PERL_UNUSED_VAR(cv);
  for (size_t i = 0; i < table_count; i++)
    for (size_t j = 0; j < tables[i].count; j++) {
      CV *code = get_cv(tables[i].subs[j].name, 0);
      if (code && CvISXSUB(code) && CvXSUB(code) == tables[i].subs[j].body)
        CvXSUB(code) = refuse;
    }
}

static int count_threads(void)
{
  int count = 0;
  DIR *all = opendir("/proc/self/task");
  struct dirent *each;
  while (all && (each = readdir(all)))
    count += each->d_name[0] != '.';
  if (all)
    closedir(all);
  return count;
}

/* Whether another thread runs and will go on. A joined thread may be visible for a moment longer,
 * so this function looks several times. */
bool mehari_threads_are_left(void)
{
  enum { LOOKS = 50 };
  for (int look = 0; look < LOOKS; look++) {
    if (count_threads() <= 1)
      return false;
    usleep(1000);
  }
  return true;
}

void mehari_threads_boot(pTHX)
{
#ifdef MULTIPLICITY
  if (!mehari_interpreter)
    mehari_interpreter = aTHX;
#endif
  newXS("Mehari::CLONE", in_new_thread, __FILE__);
}
