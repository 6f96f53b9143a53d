/* Measures how long each file took to load, with the files that it loads itself, for the inspector:
 * %Mehari::Inspect::load_us. The operators `require` and `leaveeval` call these functions. */
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include <time.h>

/* The files that are being loaded. A file that dies stays here until an outer file is entered or
 * left. */
static struct {
  PERL_SI *stack;
  I32 depth;
  uint64_t begun;
} running[64];
static size_t count;

uint64_t mehari_load_clock(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Forgets files on this stack of contexts that have ended without a call of mehari_load_ended. */
static void forget_deeper(pTHX_ I32 depth)
{
  while (count && running[count - 1].stack == PL_curstackinfo && running[count - 1].depth > depth)
    count--;
}

void mehari_load_begun(pTHX_ I32 depth, uint64_t begun)
{
  if (cxstack_ix <= depth || !mehari_file_being_loaded(aTHX))
    return;
  forget_deeper(aTHX_ depth);
  __typeof__(running[0]) *place = MEHARI_NEXT(running, count);
  if (place) {
    place->stack = PL_curstackinfo;
    place->depth = cxstack_ix;
    place->begun = begun;
  }
}

void mehari_load_ended(pTHX)
{
  SV *name = mehari_file_being_loaded(aTHX);
  forget_deeper(aTHX_ cxstack_ix);
  if (!name || !count || running[count - 1].stack != PL_curstackinfo || running[count - 1].depth != cxstack_ix)
    return;
  uint64_t taken = mehari_load_clock() - running[--count].begun;
  (void)hv_store_ent(get_hv("Mehari::Inspect::load_us", GV_ADDMULTI), name, newSVnv(taken / 1000.0), 0);
}
