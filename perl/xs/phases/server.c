/* Runs the phases of a server (start, ChildInit, ChildExit) for every server with handlers. The
 * zygote runs the first of them before it forks. A worker runs the others when it begins and
 * ends. */
#include "phases/phases.h"
#include "phases/settings.h"
#include "interpreter/interpreter.h"

typedef struct {
  int phase;
  uint32_t server;
  SV *handler;
  SV *refusal; /* the reason of a refusal; undef: none */
} server_call;

/* Calls a handler by a sub in Perl. This sub need not be fast, because no request runs it. */
static void call_server_handler(pTHX_ void *argument)
{
  server_call *this = argument;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  mXPUSHp(mehari_phases[this->phase].name, strlen(mehari_phases[this->phase].name));
  mXPUSHu(this->server);
  XPUSHs(this->handler);
  PUTBACK;
  int count = call_pv("Mehari::Handler::run_for_server", G_SCALAR | G_EVAL);
  SPAGAIN;
  sv_setsv(this->refusal, SvTRUE(ERRSV) ? ERRSV : count ? TOPs : &PL_sv_undef);
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
}

const char *mehari_run_server_phase(pTHX_ int phase)
{
  static SV *refusal;
  const char *before = mehari_phase_now;
  if (!refusal)
    refusal = newSV(0);
  sv_setsv(refusal, &PL_sv_undef);
  mehari_phase_now = mehari_phases[phase].name;
  for (uint32_t number = 0; number < mehari_server_count(); number++) {
    mehari_settings *server = mehari_server(number);
    AV *handlers = server ? server->handlers[phase] : NULL;
    for (SSize_t i = 0; handlers && i <= av_top_index(handlers) && !SvOK(refusal); i++) {
      /* A virtual host inherits the main server's handlers, which run once. */
      if (number && !SvROK(AvARRAY(handlers)[i]) && mehari_server(0) && mehari_server(0)->handlers[phase] && i <= av_top_index(mehari_server(0)->handlers[phase]) &&
          sv_eq(AvARRAY(handlers)[i], AvARRAY(mehari_server(0)->handlers[phase])[i]))
        continue;
      server_call this = {phase, number, AvARRAY(handlers)[i], refusal};
      mehari_guard(aTHX_ call_server_handler, &this, NULL);
    }
  }
  mehari_phase_now = before;
  return SvOK(refusal) ? SvPV_nolen(refusal) : NULL;
}
