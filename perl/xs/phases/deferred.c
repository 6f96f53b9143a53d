/* Deferred calls (`$r->after_response`): what a request has put off until the client has its
 * response.
 *
 * Code is kept in this process, which calls it after the request's cleanups and before DONE. The
 * call of a named sub goes to the front with its arguments. The front gives it to an idle worker as
 * a frame of its own (MEHARI_TASK_DEFERRED). lib/Mehari/Deferred.pm checks and freezes. */
#include "api/api.h"
#include "environment/environment.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "process/process.h"
#include "script/script.h"

/* The most code references that one request may keep. */
enum { KEPT_MOST = 100 };

static AV *kept;        /* code, array of its arguments, code ... */
static int kept_so_far; /* by this request */

typedef struct {
  SV *code; /* NULL: Mehari::_run_deferred */
  AV *arguments;
  bool failed;
} call;

static void tell(uint16_t what) { mehari_ring_put(MEHARI_RECORD_DEFER, what, NULL, 0); }

static void call_one(pTHX_ void *argument)
{
  call *this = argument;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  for (SSize_t i = 0; i <= av_top_index(this->arguments); i++) {
    SV **one = av_fetch(this->arguments, i, 0);
    XPUSHs(one ? *one : &PL_sv_undef);
  }
  PUTBACK;
  if (this->code)
    call_sv(this->code, G_VOID | G_DISCARD | G_EVAL);
  else
    call_pv("Mehari::_run_deferred", G_VOID | G_DISCARD | G_EVAL);
  this->failed = SvTRUE(ERRSV);
  if (this->failed)
    mehari_log_exception(aTHX_ "after_response");
  FREETMPS;
  LEAVE;
}

/* Returns true if the call has not died. A call of `exit` is an end like any other. */
static bool run(pTHX_ SV *code, AV *arguments)
{
  call this = {code, arguments, false};
  mehari_guard(aTHX_ call_one, &this, NULL);
  if (mehari_in_child)
    mehari_child_leave(aTHX_ 0);
  return !this.failed;
}

bool mehari_deferred_is_kept(pTHX) { return kept && av_top_index(kept) >= 0; }

void mehari_deferred_run(pTHX)
{
  const char *before = mehari_phase_now;
  mehari_phase_now = "after_response";
  while (mehari_deferred_is_kept(aTHX)) {
    SV *code = av_shift(kept), *arguments = av_shift(kept);
    tell(MEHARI_DEFER_BEGUN);
    mehari_ring_publish();
    bool ran = run(aTHX_ code, (AV *)SvRV(arguments));
    tell(ran ? MEHARI_DEFER_DONE : MEHARI_DEFER_FAILED);
    SvREFCNT_dec(code);
    SvREFCNT_dec(arguments);
  }
  mehari_phase_now = before;
}

void mehari_deferred_forget(pTHX)
{
  kept_so_far = 0;
  if (mehari_deferred_is_kept(aTHX))
    av_clear(kept);
}

bool mehari_deferred_serve(pTHX)
{
  mehari_text name = mehari_request_text(MEHARI_TEXT_TASK);
  mehari_output_fill_head = NULL;
  mehari_parse_headers = false;
  mehari_stdout_aside = true;
  mehari_environment_of_process(aTHX);
  mehari_enter_directory("");
  AV *arguments = newAV();
  av_push(arguments, newSVpvn(name.at, name.length));
  av_push(arguments, newSVpvn(mehari_now.body_length ? mehari_now.body : "", mehari_now.body_length));
  bool ran = run(aTHX_ NULL, arguments);
  SvREFCNT_dec((SV *)arguments);
  mehari_output_discard();
  mehari_output_error(ran ? 204 : 500);
  return true;
}

/* ---- for lib/Mehari/Deferred.pm ---- */

/* _refusal(is_code): the reason for which nothing can be deferred here, or undef. */
XS_INTERNAL(refusal)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "is_code");
  bool is_code = SvTRUE(ST(0));
  const char *reason = NULL;
  if (mehari_in_child)
    reason = "a child process cannot defer a call; its parent can";
  else if (!mehari_serving)
    reason = "no request is being served";
  else if (is_code && (mehari_is_program || !mehari_rec_now))
    reason = "no code can run here after the response, because the process is for one program; expected the name of a sub: 'Package::sub'";
  ST(0) = reason ? sv_2mortal(newSVpv(reason, 0)) : &PL_sv_undef;
  XSRETURN(1);
}

/* _keep(code, arguments): false if the request keeps too many already. */
XS_INTERNAL(keep)
{
  dXSARGS;
  if (items != 2 || !SvROK(ST(1)) || SvTYPE(SvRV(ST(1))) != SVt_PVAV)
    croak_xs_usage(cv, "code, arguments");
  if (mehari_is_warming)
    XSRETURN_YES;
  if (kept_so_far >= KEPT_MOST) {
    tell(MEHARI_DEFER_REFUSED);
    XSRETURN_NO;
  }
  kept_so_far++;
  if (!kept)
    kept = newAV();
  av_push(kept, newSVsv(ST(0)));
  av_push(kept, newSVsv(ST(1)));
  tell(MEHARI_DEFER_KEPT);
  XSRETURN_YES;
}

/* _send(name, frozen arguments): false if the front has no room. */
XS_INTERNAL(send_call)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "name, arguments");
  mehari_text parts[] = {mehari_sv_text(aTHX_ ST(0)), {"", 1}, mehari_sv_text(aTHX_ ST(1))};
  if (parts[0].length + parts[2].length >= MEHARI_RECORD_LIMIT)
    croak("the deferred call does not fit a record");
  if (mehari_is_warming || mehari_defer(parts, C_ARRAY_LENGTH(parts)))
    XSRETURN_YES;
  XSRETURN_NO;
}

void mehari_deferred_boot(pTHX)
{
  static const mehari_sub subs[] = {
    {"Mehari::Deferred::_refusal", refusal, 0}, {"Mehari::Deferred::_keep", keep, 0}, {"Mehari::Deferred::_send", send_call, 0},
  };
  MEHARI_DEFINE(subs);
}
