/* The worker's loop: takes a request, runs it on its rung, restores the interpreter. The loop never
 * returns to the Perl code that called it. */
#include "process/process.h"
#include "environment/environment.h"
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "phases/settings.h"
#include "psgi/psgi.h"
#include "request/record.h"
#include "response/response.h"
#include "script/script.h"
#include "stdio/standard.h"
#include "trace/trace.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

bool mehari_retire, mehari_replace;

/* The state at the worker's start of variables that scripts often change unintentionally. */
static struct {
  mehari_hooks hooks;
  U8 warnings;
  mode_t mask;
  SV *signals[SIG_SIZE]; /* copies of the handlers */
  AV *include; /* @INC */
} at_start;

/* The variables `$,` `$"` `$;`. Their globs are kept, because a lookup for each request would cost
 * more than the rest of the restoration. */
static struct {
  const char *name, *value;
  STRLEN length;
  GV *glob;
} separators[] = {{",", NULL, 0, NULL}, {"\"", " ", 1, NULL}, {";", "\034", 1, NULL}, {"\\", NULL, 0, NULL}, {"/", "\n", 1, NULL}};

static void remember_state(pTHX)
{
  mehari_hooks_read(aTHX_ & at_start.hooks);
  at_start.warnings = PL_dowarn;
  at_start.mask = umask(022);
  umask(at_start.mask);
  for (size_t i = 0; i < C_ARRAY_LENGTH(separators); i++)
    separators[i].glob = gv_fetchpv(separators[i].name, GV_ADD, SVt_PV);
  at_start.include = newAV();
  for (SSize_t i = 0; i <= av_top_index(GvAVn(PL_incgv)); i++)
    av_push(at_start.include, newSVsv(AvARRAY(GvAVn(PL_incgv))[i]));
  for (int i = 0; i < SIG_SIZE; i++)
    at_start.signals[i] = mehari_signal_handler(aTHX_ i) ? newSVsv(mehari_signal_handler(aTHX_ i)) : NULL;
}

/* Compares entries of @INC. Code and objects, which @INC may also contain, count as equal only
 * if they are the same. */
static bool is_same_text(pTHX_ SV *now, SV *before)
{
  if (!now)
    return false;
  if (SvPOK(now) && SvPOK(before) && SvUTF8(now) == SvUTF8(before))
    return SvCUR(now) == SvCUR(before) && memEQ(SvPVX(now), SvPVX(before), SvCUR(now));
  return sv_eq(now, before);
}

static bool include_is_as_before(pTHX_ AV *now)
{
  if (av_top_index(now) != av_top_index(at_start.include))
    return false;
  for (SSize_t i = 0; i <= av_top_index(now); i++)
    if (!is_same_text(aTHX_ AvARRAY(now)[i], AvARRAY(at_start.include)[i]))
      return false;
  return true;
}

static void restore_include(pTHX)
{
  AV *now = GvAVn(PL_incgv);
  if (include_is_as_before(aTHX_ now))
    return;
  av_clear(now);
  for (SSize_t i = 0; i <= av_top_index(at_start.include); i++)
    av_push(now, newSVsv(AvARRAY(at_start.include)[i]));
}

/* Restores a signal's handler. If there was none before, the element is deleted, so that perl
 * forgets the handler. The element is then made again, because in a new perl every signal has an
 * element. */
static void restore_signal(pTHX_ const char *name, SV *before)
{
  HV *handlers = get_hv("SIG", GV_ADD);
  if (!before)
    (void)hv_delete(handlers, name, strlen(name), G_DISCARD);
  SV **slot = hv_fetch(handlers, name, strlen(name), 1);
  if (!slot)
    return;
  sv_setsv(*slot, before ? before : &PL_sv_undef);
  if (before)
    SvSETMAGIC(*slot);
}

static void restore_signals(pTHX)
{
  SV **now = mehari_signal_handlers(aTHX);
  if (!now)
    return;
  for (int i = 1; i < SIG_SIZE; i++)
    if (now[i] != at_start.signals[i] && !mehari_is_same_handler(now[i], at_start.signals[i]))
      restore_signal(aTHX_ PL_sig_name[i], at_start.signals[i]);
}

static void restore_hook(pTHX_ SV **hook, SV *before, const char *name)
{
  if (mehari_is_same_handler(*hook, before))
    return;
  SV **slot = hv_fetch(get_hv("SIG", GV_ADD), name, strlen(name), 0);
  if (slot) {
    sv_setsv(*slot, before ? before : &PL_sv_undef);
    SvSETMAGIC(*slot);
  }
  if (!before && *hook) {
    SvREFCNT_dec(*hook);
    *hook = NULL;
  }
}

static void restore_separators(pTHX)
{
  for (size_t i = 0; i < C_ARRAY_LENGTH(separators); i++) {
    SV *variable = GvSVn(separators[i].glob);
    const char *value = separators[i].value;
    STRLEN length = separators[i].length;
    if (value ? SvPOK(variable) && SvCUR(variable) == length && memEQ(SvPVX(variable), value, length) : !SvOK(variable))
      continue;
    if (value)
      sv_setpvn(variable, value, length);
    else
      sv_setsv(variable, &PL_sv_undef);
    SvSETMAGIC(variable);
  }
}

/* Removes a tie, because the tied variable would pass the next request's values to the script's
 * code. */
static void untie(pTHX_ SV *variable)
{
  if (variable && SvRMAGICAL(variable) && mg_find(variable, PERL_MAGIC_tied))
    sv_unmagic(variable, PERL_MAGIC_tied);
}

static void untie_variables(pTHX)
{
  untie(aTHX_ (SV *)GvHV(PL_envgv));
  untie(aTHX_ (SV *)GvHV(PL_incgv));
  untie(aTHX_ (SV *)GvAV(PL_incgv));
  untie(aTHX_ PL_argvgv ? (SV *)GvAV(PL_argvgv) : NULL);
}

static void restore_state(pTHX)
{
  untie_variables(aTHX);
  restore_hook(aTHX_ &PL_warnhook, at_start.hooks.warn, "__WARN__");
  restore_hook(aTHX_ &PL_diehook, at_start.hooks.die, "__DIE__");
  restore_signals(aTHX);
  PL_dowarn = at_start.warnings;
  restore_separators(aTHX);
  restore_include(aTHX);
  if (PL_argvgv && GvAV(PL_argvgv) && av_top_index(GvAV(PL_argvgv)) >= 0)
    av_clear(GvAV(PL_argvgv));
  if (mehari_umask_changed) {
    umask(at_start.mask);
    mehari_umask_changed = false;
  }
  alarm(0);
}

static void in_guard_cleanup(pTHX_ void *argument)
{
  PERL_UNUSED_ARG(argument);
  mehari_forget_cgi(aTHX);
  restore_state(aTHX);
}

/* Whether a template's child serves the whole request. For a script with settings the worker runs
 * the other phases. */
static bool is_for_child(const mehari_request *frame)
{
  return frame->flags & MEHARI_FLAG_REWOUND || (mehari_task_is_program(frame->task) && !frame->text[MEHARI_TEXT_SETTINGS].length);
}

static void serve(pTHX)
{
  if (mehari_retire) { /* a script has changed this process, and the request was already here */
    mehari_mailbox_done(MEHARI_DONE_RETIRE | MEHARI_DONE_AGAIN);
    return;
  }
  mehari_mailbox_state(MEHARI_STATE_BUSY);
  mehari_output_begin(aTHX);
  if (is_for_child(mehari_now.frame)) {
    mehari_forked served = mehari_fork_serve(true);
    if (served == MEHARI_FORK_DONE)
      mehari_mailbox_forget();
    else
      mehari_mailbox_done((mehari_retire ? MEHARI_DONE_RETIRE : 0) | (served == MEHARI_FORK_NOT_BEGUN ? MEHARI_DONE_AGAIN : 0));
    return;
  }
  mehari_input_begin(aTHX);
  mehari_errors_begin(aTHX);
  mehari_exact_begin(aTHX);
  bool begun = mehari_now.frame->task == MEHARI_TASK_DEFERRED ? mehari_deferred_serve(aTHX) : mehari_phases_serve(aTHX);
  mehari_exact_end(aTHX);
  mehari_guard(aTHX_ in_guard_cleanup, NULL, NULL);
  if (mehari_touched & MEHARI_TOUCHED_DESCRIPTORS) {
    mehari_stdout_replaced();
    mehari_input_replaced();
    mehari_errors_replaced();
  }
  mehari_output_reset_handles(aTHX);
  mehari_input_end(aTHX);
  mehari_errors_end(aTHX);
  if (mehari_touched)
    mehari_watch_put_back();
  mehari_mailbox_done((mehari_retire ? MEHARI_DONE_RETIRE : mehari_replace ? MEHARI_DONE_REPLACE : 0) | (begun ? 0 : MEHARI_DONE_AGAIN));
  mehari_deferred_forget(aTHX);
  mehari_request_drop(aTHX);
  FREETMPS;
}

/* Calls the destructors of the request's objects. They may be slow, so the response goes first. */
static void end_objects(pTHX_ void *argument)
{
  PERL_UNUSED_ARG(argument);
  if (!mehari_destructors_due(aTHX))
    return;
  mehari_ring_publish();
  mehari_mailbox_state(MEHARI_STATE_CLEANUP);
  mehari_destructors_run(aTHX);
}

static void flush_handles(pTHX_ void *argument)
{
  PERL_UNUSED_ARG(argument);
  PL_op = NULL;
  PerlIO_flush((PerlIO *)NULL);
}

void mehari_worker_serve_once(pTHX)
{
  mehari_in_child = false;
  mehari_may_have_spawned = false;
  mehari_forget_random_seed(aTHX);
  mehari_mailbox_state(MEHARI_STATE_BUSY);
  mehari_output_begin(aTHX);
  mehari_input_begin(aTHX);
  mehari_errors_begin(aTHX);
  bool begun = mehari_phases_serve(aTHX);
  mehari_guard(aTHX_ end_objects, NULL, NULL);
  if (mehari_in_child)
    mehari_child_leave(aTHX_ 0);
  mehari_guard(aTHX_ flush_handles, NULL, NULL);
  mehari_errors_end(aTHX);
  mehari_template_child_leaves(aTHX_ begun ? 0 : MEHARI_DONE_AGAIN);
}

void mehari_process_open(pTHX_ const char *name, int mailbox, int descriptors, int bell, int bell_event)
{
  static bool is_open; /* the zygote has opened its layers and %ENV for its warm-up */
  prctl(PR_SET_NAME, name);
  mehari_forget_random_seed(aTHX);
  mehari_in_child = false;
  mehari_mailbox_attach(mailbox, descriptors, bell, bell_event);
  if (is_open)
    mehari_output_fresh_descriptor();
  else {
    mehari_errors_open(aTHX);
    mehari_input_open(aTHX);
    mehari_output_open(aTHX);
    mehari_environment_open(aTHX);
    mehari_stack_watch(aTHX);
  }
  is_open = true;
  mehari_errors_take_own_file();
  mehari_may_have_spawned = false;
  mehari_touched = 0;
}

void mehari_worker_leave(pTHX)
{
  const char *refusal = mehari_run_server_phase(aTHX_ MEHARI_PHASE_CHILD_EXIT);
  if (refusal)
    mehari_logf(MEHARI_LOG_ERROR, "%s", refusal);
  AV *ends = PL_endav;
  PL_endav = NULL;
  mehari_call_list(aTHX_ ends);
  PerlIO_flush((PerlIO *)NULL);
  _exit(0);
}

void mehari_worker_prepare(pTHX)
{
  static bool is_prepared;
  if (is_prepared)
    return;
  is_prepared = true;
  mehari_unname_program(aTHX);
  mehari_psgi_open(aTHX);
  remember_state(aTHX);
  mehari_watch_open();
  mehari_watch_loaded(aTHX);
  mehari_descriptor_claim(mehari_stem_socket);
}

void mehari_worker_open(pTHX)
{
  mehari_worker_prepare(aTHX);
  const char *refusal = mehari_run_server_phase(aTHX_ MEHARI_PHASE_CHILD_INIT);
  if (refusal)
    mehari_logf(MEHARI_LOG_ERROR, "%s", refusal);
}

void mehari_worker_serve(pTHX)
{
  for (;;) {
    mehari_mailbox_state(MEHARI_STATE_IDLE);
    if (mehari_mailbox_wants_inspection())
      mehari_inspection_serve(aTHX);
    if (mehari_mailbox_take())
      serve(aTHX);
    else if (!mehari_mailbox_wait())
      return;
  }
}

void mehari_worker_run(pTHX_ int mailbox, int descriptors, int bell, int bell_event)
{
  setpgid(0, 0);
  mehari_process_open(aTHX_ "mehari-worker", mailbox, descriptors, bell, bell_event);
  mehari_worker_open(aTHX);
  mehari_worker_serve(aTHX);
  mehari_worker_leave(aTHX);
}
