/* The rung `psgi`: serves one request, from making its environment to its cleanup handlers.
 *
 * The application runs inside an XSUB under G_EVAL. An exception while the server reads the
 * application's response (an overloaded object, an invalid response) is therefore handled like an
 * exception of the application. */
#include "psgi/psgi.h"
#include "environment/environment.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include "process/process.h"
#include "response/response.h"
#include "script/script.h"
#include "stdio/standard.h"
#include "trace/trace.h"

UV mehari_psgi_serial;
mehari_psgi_phase mehari_psgi_now;

static SV *environment; /* a reference to the hash; kept until the cleanup handlers have run */
static bool completed;

void mehari_psgi_check(pTHX_ UV serial)
{
  if (!mehari_serving || serial != mehari_psgi_serial)
    croak("the request this belongs to has ended");
}

/* The body of the XSUB that serves one request. */
void mehari_psgi_serve_one(pTHX)
{
  SV *code = mehari_psgi_app(aTHX_ mehari_request_text(MEHARI_TEXT_TASK));
  environment = newRV_noinc((SV *)mehari_psgi_environment(aTHX));
  dSP;
  PUSHMARK(SP);
  XPUSHs(environment);
  PUTBACK;
  int count = call_sv(code, G_SCALAR);
  SPAGAIN;
  SV *response = count == 1 ? POPs : &PL_sv_undef;
  PUTBACK;
  mehari_psgi_respond(aTHX_ response);
  completed = true;
}

static void run(pTHX_ void *argument)
{
  PERL_UNUSED_ARG(argument);
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  PUTBACK;
  call_sv((SV *)mehari_psgi_run, G_VOID | G_DISCARD | G_EVAL);
  FREETMPS;
  LEAVE;
}

static void log_exception(pTHX_ void *argument)
{
  PERL_UNUSED_ARG(argument);
  if (mehari_client_has_left())
    mehari_logf(MEHARI_LOG_INFO, "%s", SvPV_nolen(ERRSV));
  else
    mehari_log_exception(aTHX_ "psgi");
}

static void answer(pTHX_ mehari_outcome outcome)
{
  if (outcome == MEHARI_RAN && completed) {
    if (mehari_psgi_now == MEHARI_PSGI_UNANSWERED) {
      mehari_logf(MEHARI_LOG_ERROR, "the application never called its responder");
      mehari_output_error(500);
    } else
      mehari_output_end(aTHX);
    return;
  }
  if (outcome == MEHARI_RAN)
    mehari_guard(aTHX_ log_exception, NULL, NULL);
  else if (mehari_psgi_now != MEHARI_PSGI_ANSWERED)
    mehari_logf(MEHARI_LOG_ERROR, "the application called exit before its answer was complete");
  if (outcome != MEHARI_RAN && mehari_psgi_now == MEHARI_PSGI_ANSWERED)
    mehari_output_end(aTHX);
  else {
    mehari_output_discard();
    mehari_output_error(500);
  }
}

/* ---- after the answer ---- */

static SV *extension(pTHX_ const char *name, STRLEN length)
{
  SV **found = environment ? hv_fetch((HV *)SvRV(environment), name, length, 0) : NULL;
  return found ? *found : &PL_sv_undef;
}

static void call_handler(pTHX_ void *argument)
{
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  XPUSHs(environment);
  PUTBACK;
  call_sv(argument, G_VOID | G_DISCARD | G_EVAL);
  if (SvTRUE(ERRSV))
    mehari_log_exception(aTHX_ "psgix.cleanup");
  FREETMPS;
  LEAVE;
}

static void clean_up(pTHX)
{
  SV *list = extension(aTHX_ "psgix.cleanup.handlers", 22);
  if (!SvROK(list) || SvTYPE(SvRV(list)) != SVt_PVAV || av_top_index((AV *)SvRV(list)) < 0)
    return;
  mehari_ring_publish();
  mehari_mailbox_state(MEHARI_STATE_CLEANUP);
  AV *handlers = (AV *)SvREFCNT_inc_NN(SvRV(list));
  for (SSize_t i = 0; i <= av_top_index(handlers); i++) {
    SV **handler = av_fetch(handlers, i, 0);
    uint64_t start = mehari_trace_start();
    if (handler)
      mehari_guard(aTHX_ call_handler, *handler, NULL);
    if (mehari_in_child)
      mehari_child_leave(aTHX_ 0);
    mehari_trace_part(MEHARI_PART_CLEANUP, start, "psgix.cleanup", (mehari_text){"", 0});
  }
  SvREFCNT_dec((SV *)handlers);
}

static void look_for_harakiri(pTHX_ void *argument)
{
  PERL_UNUSED_ARG(argument);
  SV *committed = extension(aTHX_ "psgix.harakiri.commit", 21);
  if (SvTRUE(committed))
    mehari_retire = true;
}

/* Freeing the environment may run the application's destructors. */
static void drop_environment(pTHX_ void *argument)
{
  PERL_UNUSED_ARG(argument);
  SV *held = environment;
  environment = NULL;
  if (held)
    mehari_psgi_environment_end(aTHX_ held);
}

void mehari_psgi_serve(pTHX)
{
  int exit_status = 0;
  mehari_output_fill_head = NULL;
  mehari_parse_headers = false;
  mehari_stdout_aside = true;
  mehari_environment_of_process(aTHX);
  mehari_enter_directory(""); /* the worker's first folder, which a script may have left */
  mehari_psgi_now = MEHARI_PSGI_UNANSWERED;
  completed = false;
  if (!++mehari_psgi_serial)
    ++mehari_psgi_serial;
  uint64_t start = mehari_trace_start();
  mehari_outcome outcome = mehari_guard(aTHX_ run, NULL, &exit_status);
  if (mehari_in_child)
    mehari_child_leave(aTHX_ outcome == MEHARI_EXITED ? exit_status : completed ? 0 : 255);
  mehari_trace_part(MEHARI_PART_SCRIPT, start, "application", mehari_request_text(MEHARI_TEXT_TASK));
  answer(aTHX_ outcome);
  clean_up(aTHX);
  mehari_guard(aTHX_ look_for_harakiri, NULL, NULL);
  mehari_guard(aTHX_ drop_environment, NULL, NULL);
  mehari_psgi_input_end(aTHX);
}

int mehari_psgi_run_subrequest(pTHX)
{
  void (*fill_head)(pTHX) = mehari_output_fill_head;
  bool aside = mehari_stdout_aside;
  mehari_psgi_serve(aTHX);
  mehari_stdout_flush(aTHX);
  mehari_output_fill_head = fill_head;
  mehari_stdout_aside = aside;
  return mehari_response.status;
}

void mehari_psgi_open(pTHX)
{
  mehari_psgi_input_open(aTHX);
  mehari_psgi_environment_open(aTHX);
}
