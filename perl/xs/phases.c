/* The phases of a request: Perl's handlers in Apache's order, all of them within one dispatch.
 *
 * The front has routed the request and says what it would do; the handlers may decide otherwise. What
 * answers in the end is a handler, a script on its rung, or the front (MEHARI_RECORD_PASS).
 */
#include "api_form.h"

const char *mehari_phase_now;

enum { OK = 0, DECLINED = -1, DONE = -2 };

/* ---- handlers ---- */

static HV *resolved; /* handler as configured => [code] or [code, invocant] */

typedef struct {
  SV *handler; /* a name, or code */
  mehari_rec *rec;
  IV returned;
} handler_call;

/* Only the first use of a name runs Perl here; later ones are one hash look-up. NULL: $@ says why. */
static AV *resolve(pTHX_ SV *name)
{
  STRLEN length;
  const char *text = SvPV(name, length);
  SV **known = resolved ? hv_fetch(resolved, text, length, 0) : NULL;
  if (known)
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

/* mod_perl leaves the reason where an error document can find it. */
static void note_error(pTHX_ mehari_rec *rec)
{
  static const mehari_text name = {"error-notes", 11};
  mehari_text reason;
  reason.at = SvPV(ERRSV, reason.length);
  mehari_table_merge(mehari_rec_table(rec, MEHARI_TABLE_NOTES), name, reason);
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
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  if (invocant)
    XPUSHs(invocant);
  XPUSHs(mehari_rec_object(aTHX_ this->rec));
  PUTBACK;
  int count = call_sv(code, G_SCALAR | G_EVAL);
  SPAGAIN;
  SV *result = count ? POPs : &PL_sv_undef;
  PUTBACK;
  if (SvTRUE(ERRSV)) {
    this->returned = mehari_form_blame(aTHX);
    mehari_log_exception(aTHX_ mehari_phase_now);
    note_error(aTHX_ this->rec);
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

int mehari_run_phase(pTHX_ mehari_rec *rec, int phase)
{
  if (!mehari_rec_handlers(rec, phase))
    return DECLINED;
  const char *before = mehari_phase_now;
  int status = DECLINED;
  mehari_phase_now = mehari_phases[phase].name;
  /* Asked again each time: a handler may push others to its own phase. */
  for (SSize_t i = 0; i <= av_top_index(mehari_rec_handlers(rec, phase)); i++) {
    SV **handler = av_fetch(mehari_rec_handlers(rec, phase), i, 0);
    if (!handler)
      continue;
    handler_call this = {SvREFCNT_inc_NN(*handler), rec, OK};
    int exit_status = 0;
    mehari_guard(aTHX_ call_handler, &this, &exit_status);
    if (mehari_in_child)
      mehari_child_leave(aTHX_ exit_status);
    SvREFCNT_dec(this.handler);
    status = this.returned;
    if (mehari_phases[phase].runs_all ? status != OK && status != DECLINED : status != DECLINED)
      break;
  }
  mehari_phase_now = before;
  return status;
}

/* ---- before the response ---- */

/* DECLINED: go on to the response. DONE: it is complete. Else a status. */
static int before_response(pTHX_ mehari_rec *rec)
{
  for (int phase = 0; phase <= MEHARI_PHASE_FIXUP; phase++) {
    int status = mehari_run_phase(aTHX_ rec, phase);
    if (status != OK && status != DECLINED)
      return status;
    if (phase == MEHARI_PHASE_ACCESS && mehari_now.frame->access_status)
      return mehari_now.frame->access_status;
  }
  return DECLINED;
}

/* ---- the response ---- */

/* `$r->handler`, once a handler has set it. */
static bool is_set_to(pTHX_ mehari_rec *rec, const char *name)
{
  SV *handler = rec->texts[MEHARI_REC_HANDLER];
  return handler && (rec->changed & (1u << MEHARI_REC_HANDLER)) && strEQ(SvPV_nolen(handler), name);
}

static bool is_perl_script(pTHX_ mehari_rec *rec)
{
  if (rec->changed & (1u << MEHARI_REC_HANDLER))
    return is_set_to(aTHX_ rec, "perl-script");
  return mehari_now.frame->flags & MEHARI_FLAG_PERL_SCRIPT;
}

bool mehari_rec_option(mehari_rec *rec, U8 option)
{
  dTHX;
  if (rec->settings && rec->settings->options_on & option)
    return true;
  if (rec->settings && rec->settings->options_off & option)
    return false;
  return option != MEHARI_OPTION_PARSE_HEADERS && is_perl_script(aTHX_ rec);
}

/* Perl's response handlers run: because the front says so, or because a handler before did. */
static bool is_perls(pTHX_ mehari_rec *rec, U8 task)
{
  if (rec->changed & (1u << MEHARI_REC_HANDLER))
    return (is_set_to(aTHX_ rec, "modperl") || is_set_to(aTHX_ rec, "perl-script")) && mehari_rec_handlers(rec, MEHARI_PHASE_RESPONSE);
  return task == MEHARI_TASK_HANDLER || rec->handlers[MEHARI_PHASE_RESPONSE];
}

static void add_part(SV *payload, char kind, const char *at, STRLEN length)
{
  dTHX;
  uint32_t count = length;
  sv_catpvn(payload, &kind, 1);
  sv_catpvn(payload, (const char *)&count, sizeof count);
  sv_catpvn(payload, at, length);
}

static void add_text(pTHX_ SV *payload, char kind, mehari_rec *rec, int which)
{
  if (!(rec->changed & (1u << which)) || !rec->texts[which])
    return;
  STRLEN length;
  const char *text = SvPV(rec->texts[which], length);
  add_part(payload, kind, text, length);
}

/* The front answers: with the page of a status, or as it would have by itself (0). */
static void hand_back(pTHX_ mehari_rec *rec, int status)
{
  SV *payload = newSVpvs_flags("", SVs_TEMP);
  mehari_head_clear(&mehari_response);
  mehari_rec_add_error_head(rec, status);
  if (mehari_response.length)
    add_part(payload, MEHARI_PASS_LINES, mehari_response.lines, mehari_response.length);
  if (status) {
    SV *document = mehari_rec_document(aTHX_ rec, status);
    STRLEN length;
    const char *text = document ? SvPV(document, length) : NULL;
    if (text)
      add_part(payload, MEHARI_PASS_DOCUMENT, text, length);
  } else {
    add_text(aTHX_ payload, MEHARI_PASS_FILE, rec, MEHARI_REC_FILENAME);
    add_text(aTHX_ payload, MEHARI_PASS_TYPE, rec, MEHARI_REC_CONTENT_TYPE);
  }
  if (rec->redirect) {
    STRLEN length;
    const char *text = SvPV(rec->redirect, length);
    add_part(payload, MEHARI_PASS_TARGET, text, length);
  }
  mehari_output_pass(status, SvPVX(payload), SvCUR(payload));
}

/* As Apache's ap_die: what was printed goes out as it is; else the front has a page for the status. */
static void end_with(pTHX_ mehari_rec *rec, int status)
{
  bool died = status >= 400;
  if (status == OK || status == DONE) {
    if (rec->redirect && !mehari_output_sent())
      hand_back(aTHX_ rec, 0);
    else
      mehari_output_end(aTHX);
    return;
  }
  if (status < 200 || status > 599) {
    mehari_logf(MEHARI_LOG_ERROR, "a handler answered %d, which is no status: 500", status);
    status = 500;
    died = true;
  }
  if (!rec->status || died)
    rec->status = status;
  if (mehari_output_sent())
    died ? mehari_output_error(status) : mehari_output_end(aTHX);
  else if (died || (status >= 300 && !mehari_output_bytes())) {
    mehari_output_discard();
    hand_back(aTHX_ rec, status);
  } else
    mehari_output_end(aTHX);
}

/* `subprocess_env` as handlers before the response left it. */
static void export_variables(pTHX_ mehari_rec *rec)
{
  if (!rec->tables[MEHARI_TABLE_SUBPROCESS_ENV].is_filled)
    return;
  const mehari_table *table = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  for (int i = 0; i < table->count; i++) {
    const mehari_entry *entry = &table->entries[i];
    mehari_environment_set(aTHX_ (mehari_text){entry->name, entry->name_length}, (mehari_text){entry->value, entry->value_length});
  }
}

static void open_environment(pTHX_ mehari_rec *rec)
{
  if (mehari_rec_option(rec, MEHARI_OPTION_SETUP_ENV)) {
    mehari_environment_begin(aTHX);
    export_variables(aTHX_ rec);
  } else
    mehari_environment_forget(aTHX);
}

static void run_handlers(pTHX_ mehari_rec *rec)
{
  open_environment(aTHX_ rec);
  int status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_RESPONSE);
  if (status != DECLINED)
    end_with(aTHX_ rec, status);
  else if (mehari_output_sent())
    mehari_output_end(aTHX);
  else {
    mehari_output_discard();
    mehari_now.frame->task == MEHARI_TASK_HANDLER && !rec->settings ? end_with(aTHX_ rec, 404) : hand_back(aTHX_ rec, 0);
  }
}

static bool respond(pTHX_ mehari_rec *rec)
{
  U8 task = mehari_now.frame->task;
  if (is_perls(aTHX_ rec, task)) {
    run_handlers(aTHX_ rec);
    return true;
  }
  if (rec->changed & (1u << MEHARI_REC_HANDLER) && !is_set_to(aTHX_ rec, "modperl") && !is_set_to(aTHX_ rec, "perl-script"))
    task = MEHARI_TASK_FRONT;
  switch (task) {
  case MEHARI_TASK_FORK:
    return mehari_fork_serve(false) != MEHARI_FORK_NOT_BEGUN;
  case MEHARI_TASK_REGISTRY:
    mehari_environment_begin(aTHX);
    export_variables(aTHX_ rec);
    mehari_registry_serve(aTHX);
    break;
  case MEHARI_TASK_PERLRUN:
    mehari_environment_begin(aTHX);
    export_variables(aTHX_ rec);
    mehari_perlrun_serve(aTHX);
    break;
  case MEHARI_TASK_PSGI:
    mehari_psgi_serve(aTHX);
    break;
  case MEHARI_TASK_FRONT:
    hand_back(aTHX_ rec, 0);
    break;
  default:
    mehari_output_error(500);
  }
  return true;
}

/* ---- after the response ---- */

/* A function of `$r->pool->cleanup_register` and its argument. */
static void call_cleanup(pTHX_ void *argument)
{
  SV **pair = argument;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  XPUSHs(pair[1]);
  PUTBACK;
  call_sv(pair[0], G_VOID | G_DISCARD | G_EVAL);
  if (SvTRUE(ERRSV))
    mehari_log_exception(aTHX_ "cleanup");
  FREETMPS;
  LEAVE;
}

void mehari_rec_run_cleanups(pTHX_ mehari_rec *rec)
{
  const char *before = mehari_phase_now;
  mehari_phase_now = mehari_phases[MEHARI_PHASE_CLEANUP].name;
  while (rec->cleanups && av_top_index(rec->cleanups) >= 0) {
    SV *argument = av_pop(rec->cleanups), *code = av_pop(rec->cleanups);
    SV *pair[] = {code, argument};
    mehari_guard(aTHX_ call_cleanup, pair, NULL);
    if (mehari_in_child)
      mehari_child_leave(aTHX_ 0);
    SvREFCNT_dec(code);
    SvREFCNT_dec(argument);
  }
  mehari_phase_now = before;
}

/* The client has its answer. */
static void after_response(pTHX_ mehari_rec *rec)
{
  bool logs = mehari_rec_handlers(rec, MEHARI_PHASE_LOG), cleans = mehari_rec_handlers(rec, MEHARI_PHASE_CLEANUP);
  if (!logs && !cleans && !rec->cleanups)
    return;
  mehari_ring_publish();
  mehari_mailbox_state(MEHARI_STATE_CLEANUP);
  if (logs)
    mehari_run_phase(aTHX_ rec, MEHARI_PHASE_LOG);
  if (mehari_rec_handlers(rec, MEHARI_PHASE_CLEANUP))
    mehari_run_phase(aTHX_ rec, MEHARI_PHASE_CLEANUP);
  mehari_rec_run_cleanups(aTHX_ rec);
}

bool mehari_phases_serve(pTHX)
{
  mehari_rec *rec = mehari_rec_begin(aTHX);
  bool begun = true;
  int status = rec->settings && rec->settings->runs_phases ? before_response(aTHX_ rec) : DECLINED;
  if (status == DECLINED)
    begun = respond(aTHX_ rec);
  else
    end_with(aTHX_ rec, status);
  if (begun)
    after_response(aTHX_ rec);
  return begun;
}

/* ---- phases of the server's life ---- */

typedef struct {
  int phase;
  uint32_t server;
  SV *handler;
  SV *refusal; /* undef: none */
} server_call;

/* In Perl: none of this is in a request's way. */
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
      /* A virtual host has the main server's handlers too: those run once. */
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
