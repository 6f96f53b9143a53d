/* Runs the phases of a request: Perl's handlers in Apache's order.
 *
 * The front has routed the request and proposes a handler. Perl's handlers may choose another. The
 * response comes from a handler, from a script on its rung, or from the front
 * (MEHARI_RECORD_PASS). */
#include "phases/phases.h"
#include "phases/settings.h"
#include "api/api.h"
#include "environment/environment.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include "process/process.h"
#include "psgi/psgi.h"
#include "request/record.h"
#include "response/response.h"
#include "script/script.h"
#include "trace/trace.h"

/* Whether a handler has set `$r->handler` to this name. */
static bool is_set_to(pTHX_ mehari_rec *rec, const char *name)
{
  SV *handler = rec->texts[MEHARI_REC_HANDLER];
  return handler && mehari_is_changed(rec, MEHARI_REC_HANDLER) && strEQ(SvPV_nolen(handler), name);
}

static bool is_perl_script(pTHX_ mehari_rec *rec)
{
  if (mehari_is_changed(rec, MEHARI_REC_HANDLER))
    return is_set_to(aTHX_ rec, "perl-script");
  /* A script's handler is `perl-script` too, also if other handlers of the response phase run. */
  U8 task = rec->job.frame->task;
  return rec->job.frame->flags & MEHARI_FLAG_PERL_SCRIPT || task == MEHARI_TASK_REGISTRY || task == MEHARI_TASK_PERLRUN;
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

/* Whether Perl's response handlers run, because the front proposed them or an earlier handler chose
 * them. */
bool mehari_rec_runs_in_perl(pTHX_ mehari_rec *rec, U8 task)
{
  if (mehari_is_changed(rec, MEHARI_REC_HANDLER))
    return (is_set_to(aTHX_ rec, "modperl") || is_set_to(aTHX_ rec, "perl-script")) && mehari_rec_handlers(rec, MEHARI_PHASE_RESPONSE);
  /* As in Apache, handlers of the response phase do not choose the handler of the request. */
  return task == MEHARI_TASK_HANDLER || (task != MEHARI_TASK_FRONT && rec->handlers[MEHARI_PHASE_RESPONSE]);
}

/* Runs the error document of a status if the document is in Perl. It runs in this worker, where it
 * can read `$r->prev`. */
static bool answer_with_document(pTHX_ mehari_rec *rec, int status)
{
  SV *document = mehari_rec_document(aTHX_ rec, status);
  mehari_text target = mehari_text_of(aTHX_ document);
  if (!target.length || *target.at != '/' || mehari_rec_error(rec))
    return false;
  mehari_request *frame = mehari_lookup(rec, &(mehari_question){.target = target, .is_led = true});
  if (!frame || !mehari_is_for_interpreter(frame)) {
    Safefree(frame);
    return false;
  }
  mehari_rec_follow(aTHX_ rec, frame, status);
  return true;
}

/* Whether Apache knows the status. Any other return value of a handler is not a status. */
static bool is_status(int status)
{
  static const struct { short from, to; } known[] = {
    {200, 208}, {226, 226}, {300, 305}, {307, 308}, {400, 418}, {421, 426}, {428, 429}, {431, 431}, {451, 451}, {500, 508}, {510, 511},
  };
  for (size_t i = 0; i < C_ARRAY_LENGTH(known); i++) {
    if (status >= known[i].from && status <= known[i].to)
      return true;
  }
  return false;
}

const char *mehari_method_name(IV number)
{
  static const char *const names[] = {"GET", "PUT", "POST", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK"};
  return number >= 0 && number < (IV)C_ARRAY_LENGTH(names) ? names[number] : NULL;
}

/* Adds the field Allow to the refusal of a method. As in Apache, the field names the methods that
 * handlers allow. */
static void name_allowed(mehari_rec *rec)
{
  enum { TRACE = 6 };
  static const mehari_text allow = {"Allow", 5};
  mehari_table *out = mehari_rec_table(rec, MEHARI_TABLE_ERR_HEADERS_OUT);
  char list[160] = "";
  size_t length = 0;
  UV allowed = (UV)rec->numbers[MEHARI_NUMBER_ALLOWED];
  for (IV i = 0; mehari_method_name(i) && length < sizeof list; i++)
    if (i != TRACE && allowed & (UV)1 << i)
      length += snprintf(list + length, sizeof list - length, "%s%s", length ? "," : "", mehari_method_name(i));
  if (allowed & 1 && length < sizeof list)
    length += snprintf(list + length, sizeof list - length, ",HEAD");
  if (length && length < sizeof list && !mehari_table_find(out, allow) && !mehari_table_find(mehari_rec_table(rec, MEHARI_TABLE_HEADERS_OUT), allow))
    mehari_table_set(out, allow, (mehari_text){list, length});
}

/* Appends the text of `$r->custom_response` to a body that has begun, as Apache does. CGI::Carp
 * sends its page in this way. */
bool mehari_rec_append_document(pTHX_ mehari_rec *rec, int status)
{
  SV *document = rec->main ? NULL : mehari_rec_document(aTHX_ rec, status);
  mehari_text text = mehari_text_of(aTHX_ document);
  if (!mehari_is_document_text(text))
    return false;
  mehari_output_write(text.at, text.length);
  return true;
}

/* Ends the request with a status. As in Apache's ap_die, printed output is sent. Without printed
 * output the front makes the page of the status. */
void mehari_rec_end(pTHX_ mehari_rec *rec, int status)
{
  bool died = status >= 400;
  if ((status == 405 || status == 501) && !mehari_output_sent())
    name_allowed(rec);
  if (mehari_output_is_complete())
    return;
  if (status == OK || status == DONE) {
    if (rec->redirect && !mehari_output_sent())
      mehari_rec_hand_back(aTHX_ rec, 0);
    else
      mehari_output_end(aTHX);
    return;
  }
  if (!is_status(status)) {
    mehari_logf(MEHARI_LOG_ERROR, "a handler returned %d, which is not a status: 500", status);
    status = 500;
    died = true;
  }
  if (!rec->status || died)
    rec->status = status;
  if (mehari_output_sent())
    died && !mehari_rec_append_document(aTHX_ rec, status) ? mehari_output_error(status) : mehari_output_end(aTHX);
  else if (status == 304) {
    /* A 304 has no body. The handlers' fields about the client's copy are sent. */
    mehari_output_discard();
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_CONTENT_TYPE, &PL_sv_undef);
    mehari_output_end(aTHX);
  } else if (died || (status >= 300 && !mehari_output_bytes())) {
    mehari_output_discard();
    if (!answer_with_document(aTHX_ rec, status))
      mehari_rec_hand_back(aTHX_ rec, status);
  } else
    mehari_output_end(aTHX);
}

void mehari_rec_fail(pTHX_ int status)
{
  mehari_output_discard();
  if (mehari_rec_now->main)
    mehari_output_error(status);
  else
    mehari_rec_end(aTHX_ mehari_rec_now, status);
}

static void export_text(pTHX_ mehari_rec *rec, int which, const char *name)
{
  if (mehari_is_changed(rec, which) && rec->texts[which])
    mehari_environment_set(aTHX_ (mehari_text){name, strlen(name)}, mehari_text_of(aTHX_ rec->texts[which]));
}

/* Exports the user, and `subprocess_env` as the handlers before the response left it. */
void mehari_rec_export_variables(pTHX_ mehari_rec *rec)
{
  mehari_environment_set_early(aTHX);
  export_text(aTHX_ rec, MEHARI_REC_USER, "REMOTE_USER");
  export_text(aTHX_ rec, MEHARI_REC_AUTH_TYPE, "AUTH_TYPE");
  if (!rec->tables[MEHARI_TABLE_SUBPROCESS_ENV].is_filled)
    return;
  const mehari_table *table = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  for (int i = 0; i < table->count; i++) {
    const mehari_entry *entry = &table->entries[i];
    mehari_environment_set(aTHX_ (mehari_text){entry->name, entry->name_length}, (mehari_text){entry->value, entry->value_length});
  }
}

void mehari_rec_open_environment(pTHX_ mehari_rec *rec)
{
  if (mehari_rec_option(rec, MEHARI_OPTION_SETUP_ENV)) {
    mehari_environment_begin(aTHX);
    mehari_rec_export_variables(aTHX_ rec);
  } else {
    mehari_environment_forget(aTHX_ rec->restated ? &rec->came : &rec->job);
    mehari_environment_set_early(aTHX);
  }
}

static void open_script_environment(pTHX_ mehari_rec *rec)
{
  if (rec->settings && rec->settings->options_off & MEHARI_OPTION_SETUP_ENV)
    mehari_environment_without_request(aTHX);
  else
    mehari_environment_begin(aTHX);
  mehari_rec_export_variables(aTHX_ rec);
}

static void run_handlers(pTHX_ mehari_rec *rec)
{
  mehari_rec_open_environment(aTHX_ rec);
  int status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_RESPONSE);
  if (status != DECLINED)
    mehari_rec_end(aTHX_ rec, status);
  else if (mehari_output_sent())
    mehari_output_end(aTHX);
  else {
    mehari_output_discard();
    mehari_rec_hand_back(aTHX_ rec, 0);
  }
}

bool mehari_rec_respond(pTHX_ mehari_rec *rec)
{
  U8 task = rec->job.frame->task;
  if (mehari_output_is_complete())
    return true;
  /* As in mod_perl, the place to which the phases have led decides, unless a handler has set a
   * content type. */
  if (!mehari_is_changed(rec, MEHARI_REC_CONTENT_TYPE))
    mehari_parse_headers = rec->job.frame->flags & MEHARI_FLAG_PARSE_HEADERS;
  mehari_rec_restate(aTHX_ rec);
  mehari_filters_begin(aTHX_ rec);
  /* As in Apache, the filter INCLUDES makes pages that meet no condition. */
  if (rec->settings && mehari_settings_text(aTHX_ rec->settings, "conditions"))
    rec->numbers[MEHARI_NUMBER_NO_LOCAL_COPY] = 1;
  if (mehari_rec_is_proxied(aTHX_ rec)) {
    mehari_rec_hand_back(aTHX_ rec, 0);
    return true;
  }
  bool in_perl = mehari_rec_runs_in_perl(aTHX_ rec, task);
  if (!in_perl && mehari_is_changed(rec, MEHARI_REC_HANDLER) && !is_set_to(aTHX_ rec, "modperl") && !is_set_to(aTHX_ rec, "perl-script"))
    task = MEHARI_TASK_FRONT;
  if (in_perl || task != MEHARI_TASK_FRONT)
    mehari_rec_report_changes(aTHX_ rec);
  if (in_perl) {
    run_handlers(aTHX_ rec);
    return true;
  }
  switch (task) {
  case MEHARI_TASK_FORK:
  case MEHARI_TASK_REWIND:
  case MEHARI_TASK_AUTO:
    mehari_rec_tell_log(aTHX);
    return mehari_fork_serve(false) != MEHARI_FORK_NOT_BEGUN;
  case MEHARI_TASK_REGISTRY:
    open_script_environment(aTHX_ rec);
    mehari_registry_serve(aTHX);
    break;
  case MEHARI_TASK_PERLRUN:
    open_script_environment(aTHX_ rec);
    mehari_perlrun_serve(aTHX);
    break;
  case MEHARI_TASK_PSGI:
    mehari_psgi_serve(aTHX);
    break;
  case MEHARI_TASK_FRONT:
    if (!mehari_rec_send_file(aTHX_ rec))
      mehari_rec_hand_back(aTHX_ rec, 0);
    break;
  default:
    mehari_output_error(500);
  }
  return true;
}

/* ---- after the response ---- */

/* Calls a function of `$r->pool->cleanup_register` with its argument. */
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
    uint64_t start = mehari_trace_start();
    mehari_guard(aTHX_ call_cleanup, pair, NULL);
    mehari_trace_part(MEHARI_PART_CLEANUP, start, "cleanup_register", (mehari_text){"", 0});
    if (mehari_in_child)
      mehari_child_leave(aTHX_ 0);
    SvREFCNT_dec(code);
    SvREFCNT_dec(argument);
  }
  mehari_phase_now = before;
}

/* Whether this record's Log handlers run. As in Apache, a client's request has one log line, even
 * after internal redirects. */
bool mehari_rec_logs(mehari_rec *rec)
{
  return mehari_rec_is_initial(rec) && mehari_rec_handlers(rec, MEHARI_PHASE_LOG);
}

bool mehari_rec_cleans_up(mehari_rec *rec)
{
  return mehari_rec_handlers(rec, MEHARI_PHASE_CLEANUP) || rec->cleanups;
}

static void clean_up(pTHX_ mehari_rec *rec)
{
  if (mehari_rec_handlers(rec, MEHARI_PHASE_CLEANUP))
    mehari_run_phase(aTHX_ rec, MEHARI_PHASE_CLEANUP);
  mehari_rec_run_cleanups(aTHX_ rec);
}

/* Runs the phases after the client has got the response. */
static void after_response(pTHX_ mehari_rec *rec)
{
  mehari_rec *last = rec;
  bool logs = mehari_rec_logs(rec), cleans = mehari_rec_cleans_up(rec);
  for (; last->next; cleans |= mehari_rec_cleans_up(last))
    last = last->next;
  if (!logs && !cleans && !mehari_deferred_is_kept(aTHX))
    return;
  mehari_ring_publish();
  mehari_mailbox_state(MEHARI_STATE_CLEANUP);
  mehari_rec_receive_outcome(aTHX_ rec);
  if (logs)
    mehari_rec_run_log(aTHX_ rec);
  for (; last != rec; last = last->prev)
    clean_up(aTHX_ last);
  clean_up(aTHX_ rec);
  mehari_deferred_run(aTHX);
}

bool mehari_phases_serve(pTHX)
{
  mehari_rec *rec = mehari_rec_begin(aTHX);
  bool begun = true;
  mehari_filters_forget();
  int status = mehari_connection_serve(aTHX_ rec);
  if (status == DECLINED && rec->settings && rec->settings->runs_phases) {
    mehari_environment_forget(aTHX_ &rec->job);
    mehari_rec_open_phases(rec);
    status = mehari_rec_prepare(aTHX_ rec);
    mehari_rec_close_phases(aTHX_ rec);
    if (!mehari_output_is_complete()) {
      mehari_rec_report_user(aTHX_ rec);
      if (status != DECLINED) {
        mehari_rec_restate(aTHX_ rec);
        mehari_rec_report_changes(aTHX_ rec);
      }
    }
  }
  if (status == DECLINED)
    begun = mehari_rec_respond(aTHX_ rec);
  else
    mehari_rec_end(aTHX_ rec, status);
  /* A connection is not a request and is not logged. */
  if (rec->job.frame->task == MEHARI_TASK_CONNECTION) {
    mehari_rec_run_cleanups(aTHX_ rec);
    mehari_deferred_run(aTHX);
  } else if (begun)
    after_response(aTHX_ rec);
  return begun;
}

void mehari_phases_prepare(pTHX_ const mehari_request *frame)
{
  mehari_job job;
  mehari_job_read(&job, frame);
  const mehari_settings *settings = mehari_settings_find(aTHX_ frame->settings_id, mehari_job_text(&job, frame->text[MEHARI_TEXT_SETTINGS]));
  for (int phase = 0; settings && phase < MEHARI_PHASE_COUNT; phase++)
    for (SSize_t i = 0; settings->handlers[phase] && i <= av_top_index(settings->handlers[phase]); i++)
      mehari_handler_code(aTHX_ AvARRAY(settings->handlers[phase])[i]);
}
