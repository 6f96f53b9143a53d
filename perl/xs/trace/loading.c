/* Times the files that a traced request loads. The time of a `require` is the time to read and
 * compile the file, with the files that it uses. */
#include "trace/trace.h"
#include "interpreter/perl_internals.h"

static OP *(*perl_require)(pTHX);
static bool is_on;

/* Code that was compiled during a traced request keeps this operator. */
static OP *timed_require(pTHX)
{
  if (LIKELY(!mehari_traced))
    return perl_require(aTHX);
  mehari_trace_statements(aTHX);
  dSP;
  char name[256] = "";
  if (SvPOK(TOPs))
    my_strlcpy(name, SvPVX(TOPs), sizeof name);
  HV *loaded = GvHVn(PL_incgv);
  STRLEN before = HvUSEDKEYS(loaded);
  uint64_t start = mehari_trace_start();
  OP *next = perl_require(aTHX);
  /* A file that was loaded before takes no time. */
  if (HvUSEDKEYS(loaded) != before)
    mehari_trace_part(MEHARI_PART_LOAD, start, "load", (mehari_text){name, strlen(name)});
  return next;
}

void mehari_trace_loading(bool on)
{
  if (on == is_on)
    return;
  is_on = on;
  if (on)
    mehari_replace_operator(OP_REQUIRE, timed_require, &perl_require);
  else
    PL_ppaddr[OP_REQUIRE] = perl_require;
}
