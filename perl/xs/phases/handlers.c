/* Resolves configured handlers, and runs the handlers of a phase in order.
 *
 * A name is resolved once per process (Mehari::Handler). After that a call costs one hash
 * lookup. */
#include "phases/phases.h"
#include "phases/settings.h"
#include "api/form.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include "request/record.h"
#include "trace/trace.h"

const char *mehari_phase_now;

static HV *resolved; /* the handler as configured => [code] or [code, invocant] */

typedef struct {
  SV *handler; /* a name, or code */
  mehari_rec *rec;
  bool of_connection; /* whether the handler gets the connection as its argument */
  IV returned;
} handler_call;

/* Whether the code's package was unloaded in order to be loaded again (Apache2::Reload). */
static bool is_gone(SV *code)
{
  CV *sub = (CV *)SvRV(code);
  return SvTYPE((SV *)sub) == SVt_PVCV && !CvISXSUB(sub) && !CvROOT(sub);
}

/* Resolves a name. Only its first use runs Perl. NULL: $@ has the reason. */
static AV *resolve(pTHX_ SV *name)
{
  STRLEN length;
  const char *text = SvPV(name, length);
  SV **known = resolved ? hv_fetch(resolved, text, length, 0) : NULL;
  if (known && !is_gone(AvARRAY((AV *)SvRV(*known))[0]))
    return (AV *)SvRV(*known);
  AV *pair = NULL;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  XPUSHs(name);
  PUTBACK;
  int count = call_pv("Mehari::Handler::resolve", G_SCALAR | G_EVAL);
  SPAGAIN;
  if (count == 1 && !SvTRUE(ERRSV) && SvROK(TOPs)) {
    if (!resolved)
      resolved = newHV();
    (void)hv_store(resolved, text, length, newSVsv(TOPs), 0);
    pair = (AV *)SvRV(TOPs);
  }
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
  return pair;
}

SV *mehari_handler_code(pTHX_ SV *handler)
{
  AV *pair = SvROK(handler) ? NULL : resolve(aTHX_ handler);
  return pair ? AvARRAY(pair)[0] : handler;
}

void mehari_rec_note_error(mehari_rec *rec, mehari_text reason)
{
  static const mehari_text name = {"error-notes", 11};
  mehari_table_merge(mehari_rec_table(rec, MEHARI_TABLE_NOTES), name, reason, ", ");
}

static void call_handler(pTHX_ void *argument)
{
  handler_call *this = argument;
  SV *code = this->handler, *invocant = NULL;
  if (!SvROK(code)) {
    AV *pair = resolve(aTHX_ code);
    if (!pair) {
      this->returned = 500;
      mehari_log_exception(aTHX_ mehari_phase_now);
      return;
    }
    code = AvARRAY(pair)[0];
    invocant = av_top_index(pair) > 0 ? AvARRAY(pair)[1] : NULL;
  }
  SV *subject = this->of_connection ? mehari_rec_connection(aTHX_ this->rec) : mehari_rec_object(aTHX_ this->rec);
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  if (invocant)
    XPUSHs(invocant);
  XPUSHs(subject);
  PUTBACK;
  int count = call_sv(code, G_SCALAR | G_EVAL);
  SPAGAIN;
  SV *result = count ? POPs : &PL_sv_undef;
  PUTBACK;
  if (SvTRUE(ERRSV)) {
    this->returned = mehari_form_error_status(aTHX);
    mehari_log_exception(aTHX_ mehari_phase_now);
    mehari_rec_note_error(this->rec, mehari_text_of(aTHX_ ERRSV));
  } else
    this->returned = SvOK(result) ? SvIV(result) : OK;
  FREETMPS;
  LEAVE;
}

AV *mehari_rec_handlers(mehari_rec *rec, int phase)
{
  if (rec->handlers[phase])
    return rec->handlers[phase];
  return rec->settings ? rec->settings->handlers[phase] : NULL;
}

/* Croaks if a handler prints before the request's response phase, as in mod_perl. A handler that
 * the response phase runs once more (`$r->run_fixups`) may print. */
void mehari_phase_check_output(pTHX_ const char *method)
{
  bool responds = mehari_phase_now == mehari_phases[MEHARI_PHASE_RESPONSE].name;
  if (mehari_phase_now && !responds && mehari_rec_now && mehari_rec_now->is_early)
    croak("$r->%s can't be called before the response phase", method);
}

/* Returns a handler's name for a trace: as configured, or the name of the code. */
static mehari_text handler_name(pTHX_ SV *handler)
{
  if (!SvROK(handler))
    return mehari_text_of(aTHX_ handler);
  CV *code = SvTYPE(SvRV(handler)) == SVt_PVCV ? (CV *)SvRV(handler) : NULL;
  GV *glob = code && !CvNAMED(code) ? CvGV(code) : NULL;
  const char *name = glob && isGV_with_GP(glob) ? GvNAME(glob) : "code";
  return (mehari_text){name, strlen(name)};
}

int mehari_run_phase(pTHX_ mehari_rec *rec, int phase)
{
  AV *configured = mehari_rec_handlers(rec, phase);
  if (!configured)
    return DECLINED;
  const char *before = mehari_phase_now;
  int status = DECLINED;
  if (phase >= MEHARI_PHASE_HEADER_PARSER)
    mehari_rec_set_perl_env(rec);
  mehari_phase_now = mehari_phases[phase].name;
  /* The list is read again each time, because a handler may push further handlers of its own phase.
   * A handler may also lead the request to a place with other handlers, which do not count. */
  for (SSize_t i = 0;; i++) {
    AV *list = rec->handlers[phase] ? rec->handlers[phase] : configured;
    if (i > av_top_index(list))
      break;
    SV **handler = av_fetch(list, i, 0);
    if (!handler)
      continue;
    bool of_connection = phase == MEHARI_PHASE_PRE_CONNECTION || phase == MEHARI_PHASE_PROCESS_CONNECTION;
    handler_call this = {SvREFCNT_inc_NN(*handler), rec, of_connection, OK};
    int exit_status = 0;
    uint64_t start = mehari_trace_start();
    mehari_guard(aTHX_ call_handler, &this, &exit_status);
    if (mehari_in_child)
      mehari_child_leave(aTHX_ exit_status);
    if (start)
      mehari_trace_part(MEHARI_PART_HANDLER, start, mehari_phases[phase].name, handler_name(aTHX_ this.handler));
    SvREFCNT_dec(this.handler);
    status = this.returned;
    if (mehari_phases[phase].runs_all ? status != OK && status != DECLINED : status != DECLINED)
      break;
  }
  mehari_phase_now = before;
  return status;
}
