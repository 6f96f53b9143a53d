/* Notices what a request does to the variables of perl that change the kernel's state: `$0` changes
 * the process's name, `$<`, `$>`, `$(` and `$)` change its user and groups, and an element of %SIG
 * changes a signal's handler. A rewind checks this state only after such an assignment. */
#include "mehari.h"
#include "rewind/state.h"
#include "interpreter/perl_internals.h"
#include <signal.h>

/* A variable whose assignment perl passes to the kernel. */
typedef struct {
  const char *name;
  unsigned changes; /* MEHARI_REACH_* */
  GV *glob;
  SV *value;
} variable;

static variable variables[] = {
  {"0", MEHARI_REACH_NAME, NULL, NULL},
  {"<", MEHARI_REACH_USER, NULL, NULL},
  {">", MEHARI_REACH_USER, NULL, NULL},
  {"(", MEHARI_REACH_USER, NULL, NULL},
  {")", MEHARI_REACH_USER, NULL, NULL},
};
static unsigned changed; /* a rewind sets this variable back, as all memory */

static int is_set(pTHX_ SV *value, MAGIC *magic)
{
  PERL_UNUSED_CONTEXT;
  PERL_UNUSED_ARG(value);
  changed |= ((const variable *)magic->mg_ptr)->changes;
  return 0;
}

static MGVTBL watched = {.svt_set = is_set};

/* ---- the template ---- */

void mehari_rewind_watch_variables(pTHX)
{
  for (size_t i = 0; i < C_ARRAY_LENGTH(variables); i++) {
    variable *this = &variables[i];
    this->glob = gv_fetchpv(this->name, GV_ADD | GV_NOTQUAL, SVt_PV);
    this->value = GvSVn(this->glob);
    sv_magicext(this->value, NULL, PERL_MAGIC_ext, &watched, (const char *)this, 0);
  }
  (void)get_hv("SIG", GV_ADD); /* perl makes its table of handlers */
}

/* libc's sigaction refuses the signals that libc itself uses. */
static bool is_handled(int signal)
{
  mehari_disposition now;
  return KERNEL(SYS_rt_sigaction, signal, NULL, &now, 8) == 0 && now.handler != (uint64_t)SIG_DFL;
}

/* Gives each signal that the process handles or ignores a name in perl's table, which perl takes
 * away when a script deletes or restores the element. The names are allocated here, because
 * the child must not allocate memory after the picture. */
void mehari_rewind_watch_handlers(pTHX_ mehari_rewind *rewind)
{
  for (int i = 1; i < SIG_SIZE && i <= MEHARI_REWIND_SIGNALS; i++)
    if (is_handled(i) && mehari_signal_name_once(aTHX_ i))
      rewind->watched_signals |= UINT64_C(1) << (i - 1);
}

/* ---- its child ---- */

uint64_t mehari_rewind_changed_handlers(pTHX_ const mehari_rewind *rewind)
{
  uint64_t signals = (rewind->caught | rewind->ignored) & ~rewind->watched_signals;
  for (int i = 1; i < SIG_SIZE && i <= MEHARI_REWIND_SIGNALS; i++)
    if (rewind->watched_signals >> (i - 1) & 1 && !mehari_signal_has_name(aTHX_ i))
      signals |= UINT64_C(1) << (i - 1);
  return signals;
}

/* Whether the name still leads to the value that is watched. A script may delete or replace the
 * glob, and perl then makes another one. */
static bool is_in_place(pTHX_ const variable *this)
{
  SV **glob = hv_fetch(PL_defstash, this->name, 1, 0);
  return glob && *glob == (SV *)this->glob && isGV_with_GP(this->glob) && GvSV(this->glob) == this->value;
}

unsigned mehari_rewind_changed_variables(pTHX)
{
  unsigned all = changed;
  for (size_t i = 0; i < C_ARRAY_LENGTH(variables); i++)
    if (!is_in_place(aTHX_ &variables[i]))
      all |= variables[i].changes;
  return all;
}
