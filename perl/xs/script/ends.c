/* Knows when the END block of DBI would do nothing. A preloaded DBI has this block run at the end
 * of each program, whether or not the program uses a database. The block writes to about twenty
 * pages, as many as a small program itself, and the rung `rewind` copies each of them back.
 *
 * The block writes a line to DBI's trace, sets $DBI::PERL_ENDING and disconnects the drivers. It
 * does nothing if the trace is off, no driver is installed, and no code runs afterwards. */
#include "script/script.h"
#include "interpreter/interpreter.h"
#include "trace/trace.h"

/* The versions of DBI.pm in whose sources a developer has read the block. */
#define OLDEST 1.64
#define NEWEST 1.656

/* The first part of DBI's state: DBIXS.h (struct dbistate_st). */
typedef struct {
  void (*check)(void);
  U16 version, size, interface, spare;
  I32 trace;
} state_of_dbi;
#define STATE_VERSION 94
#define TRACE_LEVEL 0xF /* the bits of `trace` that have the level */
#define LEVEL_OF_BLOCK 2

/* NULL: DBI is not loaded, or has a version that is not known. */
static CV *block;
static GV *drivers, *tracer;
static HV *installed;
static CV *trace_message;
static const state_of_dbi *state;

static bool is_of_dbi(pTHX_ CV *code)
{
  const char *file = CvFILE(code), *package = CvSTASH(code) ? HvNAME(CvSTASH(code)) : NULL;
  SV **loaded = hv_fetchs(GvHVn(PL_incgv), "DBI.pm", 0);
  return file && package && strEQ(package, "DBI") && loaded && SvPOK(*loaded) && strEQ(file, SvPVX(*loaded));
}

static const state_of_dbi *find_state(pTHX)
{
  SV *address = get_sv("DBI::_dbistate", 0);
  const state_of_dbi *found = address && SvIOK(address) ? INT2PTR(const state_of_dbi *, SvIVX(address)) : NULL;
  return found && found->version == STATE_VERSION && found->size >= sizeof *found ? found : NULL;
}

void mehari_ends_prepare(pTHX)
{
  SV *version = get_sv("DBI::VERSION", 0);
  drivers = gv_fetchpvs("DBI::installed_drh", 0, SVt_PVHV);
  tracer = gv_fetchpvs("DBI::trace_msg", 0, SVt_PVCV);
  block = NULL;
  if (!version || !drivers || !tracer || SvNV(version) < OLDEST || SvNV(version) > NEWEST)
    return;
  installed = GvHV(drivers);
  trace_message = GvCV(tracer);
  state = find_state(aTHX);
  if (!installed || !trace_message || !CvISXSUB(trace_message) || !state)
    return;
  for (SSize_t i = PL_endav ? av_top_index(PL_endav) : -1; i >= 0; i--)
    if (is_of_dbi(aTHX_ (CV *)AvARRAY(PL_endav)[i]))
      block = (CV *)AvARRAY(PL_endav)[i];
}

/* Whether the block would do nothing now. */
static bool is_idle(pTHX_ const SV *end)
{
  bool as_prepared = GvHV(drivers) == installed && GvCV(tracer) == trace_message && CvISXSUB(trace_message);
  return end == (const SV *)block && as_prepared && !SvMAGICAL(installed) && !HvUSEDKEYS(installed) &&
         (state->trace & TRACE_LEVEL) < LEVEL_OF_BLOCK;
}

bool mehari_ends_are_idle(pTHX_ AV *ends)
{
  bool is_watched = mehari_exact || PL_perldb;
  return block && !is_watched && av_top_index(ends) == 0 && is_idle(aTHX_ AvARRAY(ends)[0]);
}
