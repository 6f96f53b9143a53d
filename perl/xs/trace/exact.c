/* Exact profiles (`mehari profile --exact`): Devel::NYTProf measures each request that this process
 * or a child of a template runs, in a file of its own. The profiler is there only if the front has
 * started the zygote for such a profile; the fact `exact` then names the folder of the files. */
#include "trace/trace.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

bool mehari_exact;
static char *folder;
static pid_t profiled; /* the process in which a profile has begun; 0: none */
static char unfinished[PATH_MAX], finished[PATH_MAX];

typedef struct {
  const char *sub, *argument;
} profiler_call;

static void call_profiler(pTHX_ void *argument)
{
  profiler_call *this = argument;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  if (this->argument)
    XPUSHs(sv_2mortal(newSVpv(this->argument, 0)));
  PUTBACK;
  call_pv(this->sub, G_VOID | G_DISCARD | G_EVAL);
  if (SvTRUE(ERRSV))
    mehari_logf(MEHARI_LOG_ERROR, "the exact profile: %s", SvPV_nolen(ERRSV));
  FREETMPS;
  LEAVE;
}

void mehari_exact_open(pTHX)
{
  SV **named = hv_fetchs(get_hv("Mehari::Server::fact", GV_ADD), "exact", 0);
  if (!named || !get_cv("DB::enable_profile", 0))
    return;
  folder = savesvpv(*named);
  mehari_exact = true;
}

/* Names the files of the current request. False: the name of the folder is too long. */
static bool name_files(void)
{
  unsigned long long number = mehari_now.frame->request_id;
  int length = snprintf(unfinished, sizeof unfinished, "%s/%llu-%ld.part", folder, number, (long)getpid());
  snprintf(finished, sizeof finished, "%s/%llu-%ld.out", folder, number, (long)getpid());
  return length > 0 && (size_t)length < sizeof unfinished;
}

void mehari_exact_begin_request(pTHX)
{
  if (!name_files())
    return;
  profiled = getpid();
  mehari_guard(aTHX_ call_profiler, &(profiler_call){"DB::enable_profile", unfinished}, NULL);
}

void mehari_exact_end_request(pTHX)
{
  if (profiled != getpid())
    return;
  profiled = 0;
  mehari_guard(aTHX_ call_profiler, &(profiler_call){"DB::finish_profile", NULL}, NULL);
  if (rename(unfinished, finished) < 0)
    mehari_logf(MEHARI_LOG_ERROR, "the exact profile %s: %s", unfinished, strerror(errno));
}
