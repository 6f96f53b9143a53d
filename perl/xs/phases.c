/* The phases of a request: Perl's handlers in Apache's order, all of them within one dispatch.
 *
 * The front has routed the request and says what it would do; the handlers may decide otherwise. What
 * answers in the end is a handler, a script on its rung, or the front (MEHARI_RECORD_PASS).
 */
#include "api_form.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

const char *mehari_phase_now;

enum { OK = 0, DECLINED = -1, DONE = -2 };

/* ---- handlers ---- */

static HV *resolved; /* handler as configured => [code] or [code, invocant] */

typedef struct {
  SV *handler; /* a name, or code */
  mehari_rec *rec;
  IV returned;
} handler_call;

/* Its package was unloaded since, to be loaded anew (Apache2::Reload). */
static bool is_gone(SV *code)
{
  CV *sub = (CV *)SvRV(code);
  return SvTYPE((SV *)sub) == SVt_PVCV && !CvISXSUB(sub) && !CvROOT(sub);
}

/* Only the first use of a name runs Perl here; later ones are one hash look-up. NULL: $@ says why. */
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

/* mod_perl leaves the reason where an error document can find it. */
static void note_error(pTHX_ mehari_rec *rec)
{
  static const mehari_text name = {"error-notes", 11};
  mehari_text reason;
  reason.at = SvPV(ERRSV, reason.length);
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

static bool is_changed(const mehari_rec *rec, int which) { return rec->changed & (1u << which); }

static mehari_text text_of(pTHX_ SV *sv)
{
  mehari_text text = {"", 0};
  if (sv)
    text.at = SvPV(sv, text.length);
  return text;
}

/* A path as it would stand in a request line, with the query. */
static SV *encoded(pTHX_ SV *path, SV *query)
{
  static const char kept[] = "/-._~!$&'()*+,;=:@";
  mehari_text text = text_of(aTHX_ path);
  SV *target = newSVpvs_flags("", SVs_TEMP);
  for (STRLEN i = 0; i < text.length; i++) {
    U8 byte = text.at[i];
    if (isALPHANUMERIC_A(byte) || (byte && strchr(kept, byte)))
      sv_catpvn(target, (char *)&byte, 1);
    else
      sv_catpvf(target, "%%%02X", byte);
  }
  if (query && SvOK(query) && SvCUR(query)) {
    sv_catpvs(target, "?");
    sv_catsv(target, query);
  }
  return target;
}

/* A PerlTransHandler named another path, or the file itself: what is configured for that holds from here on. */
static int follow_translation(pTHX_ mehari_rec *rec, int answered)
{
  bool has_file = is_changed(rec, MEHARI_REC_FILENAME) && rec->texts[MEHARI_REC_FILENAME];
  if (!has_file && !is_changed(rec, MEHARI_REC_URI))
    return OK;
  SV *target = encoded(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI), mehari_rec_text(aTHX_ rec, MEHARI_REC_ARGS));
  mehari_text file = text_of(aTHX_ rec->texts[MEHARI_REC_FILENAME]);
  mehari_request *frame = mehari_lookup(rec, text_of(aTHX_ target), has_file && answered == OK ? &file : NULL, true);
  if (!frame)
    return 404;
  mehari_rec_adopt(aTHX_ rec, frame);
  return OK;
}

/* The words behind `user` or `group` in a line of `Require`. */
static bool names(mehari_text line, const char *kind, mehari_text name)
{
  STRLEN kind_length = strlen(kind);
  if (line.length <= kind_length || !memEQ(line.at, kind, kind_length) || line.at[kind_length] != ' ' || !name.length)
    return false;
  for (const char *at = line.at + kind_length + 1, *end = line.at + line.length; at < end;) {
    const char *stop = memchr(at, ' ', end - at);
    STRLEN length = (stop ? stop : end) - at;
    if (length == name.length && memEQ(at, name.at, length))
      return true;
    at += length + 1;
  }
  return false;
}

/* `Require`, as far as it is about the user: one line that holds is enough. */
static bool holds_requirement(pTHX_ mehari_rec *rec)
{
  mehari_text user = text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_USER)), all = text_of(aTHX_ mehari_settings_text(aTHX_ rec->settings, "require"));
  while (all.length) {
    const char *stop = memchr(all.at, '\n', all.length);
    mehari_text line = {all.at, stop ? (STRLEN)(stop - all.at) : all.length};
    if (names(line, "user", user) || (user.length && line.length == 10 && memEQ(line.at, "valid-user", 10)))
      return true;
    all.at += line.length + !!stop;
    all.length -= line.length + !!stop;
  }
  return false;
}

/* Who it is, and what that user may. Where nobody decides the answer is no: to let a request in because every handler
 * declined would be a way around the password. */
static int authorize(pTHX_ mehari_rec *rec)
{
  bool has_authen = mehari_rec_handlers(rec, MEHARI_PHASE_AUTHEN);
  /* As in Apache: without a `Require` about users nobody is asked. */
  if (!mehari_settings_text(aTHX_ rec->settings, "require"))
    return DECLINED;
  int status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_AUTHEN);
  if (status == DECLINED && has_authen)
    mehari_logf(MEHARI_LOG_ERROR, "every PerlAuthenHandler declined: nobody has said who the user is");
  if (status != OK && (status != DECLINED || has_authen))
    return status == DECLINED ? 401 : status;
  status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_AUTHZ);
  if (status != DECLINED)
    return status;
  return holds_requirement(aTHX_ rec) ? OK : 403;
}

/* DECLINED: go on to the response. DONE: it is complete. Else a status. */
static int before_response(pTHX_ mehari_rec *rec)
{
  for (int phase = rec->main ? MEHARI_PHASE_TRANS : 0; phase <= MEHARI_PHASE_FIXUP; phase++) {
    if (phase == MEHARI_PHASE_HEADER_PARSER && rec->main)
      continue;
    if (phase == MEHARI_PHASE_AUTHZ)
      continue;
    int status = phase == MEHARI_PHASE_AUTHEN ? authorize(aTHX_ rec) : mehari_run_phase(aTHX_ rec, phase);
    if (phase == MEHARI_PHASE_TRANS && (status == OK || status == DECLINED))
      status = follow_translation(aTHX_ rec, status);
    if (status != OK && status != DECLINED)
      return status;
    if (phase == MEHARI_PHASE_ACCESS && rec->job.frame->access_status)
      return rec->job.frame->access_status;
  }
  return DECLINED;
}

/* Likewise of a request made within another, which the front has not stopped at its own gate. */
static int admit(pTHX_ mehari_rec *rec)
{
  if (rec->settings && rec->settings->runs_phases)
    return before_response(aTHX_ rec);
  return rec->job.frame->access_status ? rec->job.frame->access_status : DECLINED;
}

/* ---- the response ---- */

/* `$r->handler`, once a handler has set it. */
static bool is_set_to(pTHX_ mehari_rec *rec, const char *name)
{
  SV *handler = rec->texts[MEHARI_REC_HANDLER];
  return handler && is_changed(rec, MEHARI_REC_HANDLER) && strEQ(SvPV_nolen(handler), name);
}

static bool is_perl_script(pTHX_ mehari_rec *rec)
{
  if (is_changed(rec, MEHARI_REC_HANDLER))
    return is_set_to(aTHX_ rec, "perl-script");
  return rec->job.frame->flags & MEHARI_FLAG_PERL_SCRIPT;
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
  if (is_changed(rec, MEHARI_REC_HANDLER))
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

/* Where it is not the path the front has routed that is to be answered: the file, or a path for what is none. */
static void add_place(pTHX_ SV *payload, mehari_rec *rec)
{
  struct stat found;
  SV *file = mehari_rec_text(aTHX_ rec, MEHARI_REC_FILENAME);
  if (!is_changed(rec, MEHARI_REC_FILENAME) && !rec->own_frame)
    return;
  mehari_text text = text_of(aTHX_ file);
  bool is_file = rec->job.frame->task == MEHARI_TASK_FRONT && stat(text.at, &found) == 0 && S_ISREG(found.st_mode);
  if (is_file || !rec->own_frame) {
    add_part(payload, MEHARI_PASS_FILE, text.at, text.length);
    return;
  }
  text = text_of(aTHX_ encoded(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI), mehari_rec_text(aTHX_ rec, MEHARI_REC_ARGS)));
  add_part(payload, MEHARI_PASS_TARGET, text.at, text.length);
}
#define TEXT_TYPE "text/html; charset=iso-8859-1"

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
    /* A text is HTML to Apache; a path or an address is somebody else's answer. */
    if (text && *text != '/' && !memmem(text, length, "://", 3))
      add_part(payload, MEHARI_PASS_TYPE, TEXT_TYPE, sizeof TEXT_TYPE - 1);
  } else {
    add_place(aTHX_ payload, rec);
    add_text(aTHX_ payload, MEHARI_PASS_TYPE, rec, MEHARI_REC_CONTENT_TYPE);
  }
  if (rec->redirect) {
    STRLEN length;
    const char *text = SvPV(rec->redirect, length);
    add_part(payload, MEHARI_PASS_TARGET, text, length);
  }
  mehari_output_pass(status, SvPVX(payload), SvCUR(payload));
}

static bool is_of_a_worker(const mehari_request *frame)
{
  return frame->task == MEHARI_TASK_HANDLER || frame->task == MEHARI_TASK_REGISTRY || frame->task == MEHARI_TASK_PERLRUN;
}

static void follow(pTHX_ mehari_rec *rec, mehari_request *frame, int status);

/* An error document that Perl makes, here and now: it can ask `$r->prev` what happened. */
static bool answer_with_document(pTHX_ mehari_rec *rec, int status)
{
  SV *document = mehari_rec_document(aTHX_ rec, status);
  mehari_text target = text_of(aTHX_ document);
  if (!target.length || *target.at != '/' || rec->prev)
    return false;
  mehari_request *frame = mehari_lookup(rec, target, NULL, false);
  if (!frame || !is_of_a_worker(frame)) {
    Safefree(frame);
    return false;
  }
  follow(aTHX_ rec, frame, status);
  return true;
}

/* As Apache's ap_die: what was printed goes out as it is; else the front has a page for the status. */
static void end_with(pTHX_ mehari_rec *rec, int status)
{
  bool died = status >= 400;
  if (mehari_output_is_complete())
    return;
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
  else if (status == 304) {
    /* No page, but what the handler said of the one the client has. */
    mehari_output_discard();
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_CONTENT_TYPE, &PL_sv_undef);
    mehari_output_end(aTHX);
  } else if (died || (status >= 300 && !mehari_output_bytes())) {
    mehari_output_discard();
    if (!answer_with_document(aTHX_ rec, status))
      hand_back(aTHX_ rec, status);
  } else
    mehari_output_end(aTHX);
}

void mehari_rec_fail(pTHX_ int status)
{
  mehari_output_discard();
  if (mehari_rec_now->main)
    mehari_output_error(status);
  else
    end_with(aTHX_ mehari_rec_now, status);
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

static void open_script_environment(pTHX_ mehari_rec *rec)
{
  if (rec->settings && rec->settings->options_off & MEHARI_OPTION_SETUP_ENV)
    mehari_environment_without_request(aTHX);
  else
    mehari_environment_begin(aTHX);
  export_variables(aTHX_ rec);
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
    hand_back(aTHX_ rec, 0);
  }
}

static bool respond(pTHX_ mehari_rec *rec)
{
  U8 task = rec->job.frame->task;
  mehari_filters_begin(aTHX_ rec);
  if (is_perls(aTHX_ rec, task)) {
    run_handlers(aTHX_ rec);
    return true;
  }
  if (is_changed(rec, MEHARI_REC_HANDLER) && !is_set_to(aTHX_ rec, "modperl") && !is_set_to(aTHX_ rec, "perl-script"))
    task = MEHARI_TASK_FRONT;
  switch (task) {
  case MEHARI_TASK_FORK:
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
    hand_back(aTHX_ rec, 0);
    break;
  default:
    mehari_output_error(500);
  }
  return true;
}

/* ---- internal redirects ---- */

/* As Apache: what a handler set for the request before is known to the next with REDIRECT_ in front. */
static void inherit_variables(pTHX_ mehari_rec *rec, int status)
{
  mehari_table *from = mehari_rec_table(rec->prev, MEHARI_TABLE_SUBPROCESS_ENV), *into = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  char name[256], digits[12];
  for (int i = 0; i < from->count; i++) {
    int length = snprintf(name, sizeof name, "REDIRECT_%s", from->entries[i].name);
    if (length < (int)sizeof name)
      mehari_table_set(into, (mehari_text){name, length}, (mehari_text){from->entries[i].value, from->entries[i].value_length});
  }
  int length = snprintf(digits, sizeof digits, "%d", status ? status : 200);
  mehari_table_set(into, (mehari_text){"REDIRECT_STATUS", 15}, (mehari_text){digits, length});
  mehari_table_set(into, (mehari_text){"REDIRECT_URL", 12}, text_of(aTHX_ mehari_rec_text(aTHX_ rec->prev, MEHARI_REC_URI)));
  mehari_text query = text_of(aTHX_ mehari_rec_text(aTHX_ rec->prev, MEHARI_REC_ARGS));
  if (query.length)
    mehari_table_set(into, (mehari_text){"REDIRECT_QUERY_STRING", 21}, query);
}

/* err_headers_out goes with whatever answers in the end: an error document still sets and clears cookies. */
static void inherit_error_head(mehari_rec *rec)
{
  const mehari_table *from = rec->prev->tables[MEHARI_TABLE_ERR_HEADERS_OUT].table;
  for (int i = 0; from && i < from->count; i++) {
    const mehari_entry *entry = &from->entries[i];
    mehari_table_add(mehari_rec_table(rec, MEHARI_TABLE_ERR_HEADERS_OUT), (mehari_text){entry->name, entry->name_length}, (mehari_text){entry->value, entry->value_length});
  }
}

/* The request goes on as another one; `rec` is over but for its log and cleanup. */
static void follow(pTHX_ mehari_rec *rec, mehari_request *frame, int status)
{
  mehari_rec *next = mehari_rec_new(aTHX_ frame);
  const char *before = mehari_phase_now;
  next->prev = rec;
  rec->next = next;
  next->status = status;
  mehari_rec_enter(next);
  inherit_variables(aTHX_ next, status);
  inherit_error_head(next);
  int outcome = admit(aTHX_ next);
  if (outcome == DECLINED)
    respond(aTHX_ next);
  else
    end_with(aTHX_ next, outcome);
  rec->job.body_file = mehari_now.body_file;
  mehari_rec_enter(rec);
  mehari_phase_now = before;
}

enum { MOST_REDIRECTS = 10 }; /* Apache's LimitInternalRecursion */

void mehari_rec_redirect(pTHX_ mehari_rec *rec, mehari_text target, int status)
{
  int count = 0;
  for (mehari_rec *before = rec; before; before = before->prev)
    count++;
  if (count > MOST_REDIRECTS) {
    mehari_logf(MEHARI_LOG_ERROR, "redirected within the server more than %d times: %.*s", MOST_REDIRECTS, (int)target.length, target.at);
    end_with(aTHX_ rec, 500);
    return;
  }
  mehari_request *frame = mehari_lookup(rec, target, NULL, false);
  if (frame)
    follow(aTHX_ rec, frame, status);
  else
    end_with(aTHX_ rec, 404);
}

/* ---- sub-requests ---- */

mehari_rec *mehari_rec_sub(pTHX_ mehari_rec *main, mehari_text target, const mehari_text *file, mehari_text method)
{
  mehari_request *frame = mehari_lookup(main, target, file, false);
  if (!frame)
    return NULL;
  mehari_rec *sub = mehari_rec_new(aTHX_ frame), *before = mehari_rec_now;
  sub->main = main;
  if (method.length)
    mehari_rec_set_text(aTHX_ sub, MEHARI_REC_METHOD, newSVpvn_flags(method.at, method.length, SVs_TEMP));
  mehari_rec_enter(sub);
  int status = admit(aTHX_ sub);
  if (status > OK)
    sub->status = status;
  mehari_rec_enter(before);
  return sub;
}

/* A file within a response: its bytes. */
static int print_file(pTHX_ mehari_rec *rec)
{
  char window[16384];
  struct stat found;
  SV *name = mehari_rec_text(aTHX_ rec, MEHARI_REC_FILENAME);
  int file = name ? open(SvPV_nolen(name), O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0 || fstat(file, &found) < 0 || !S_ISREG(found.st_mode)) {
    int status = file < 0 && errno == EACCES ? 403 : 404;
    if (file >= 0)
      close(file);
    return status;
  }
  ssize_t got;
  while ((got = read(file, window, sizeof window)) > 0 || (got < 0 && errno == EINTR))
    if (got > 0)
      mehari_output_write(window, got);
  close(file);
  return OK;
}

/* A process of its own, as the front would have started for it. */
static bool is_program(const mehari_rec *rec)
{
  const mehari_request *frame = rec->job.frame;
  return frame->task == MEHARI_TASK_FORK || (frame->task == MEHARI_TASK_FRONT && frame->flags & MEHARI_FLAG_PROGRAM);
}

static int run_program(pTHX_ mehari_rec *sub)
{
  SV *file = mehari_rec_text(aTHX_ sub, MEHARI_REC_FILENAME);
  if (!file)
    return 404;
  mehari_environment_begin(aTHX);
  export_variables(aTHX_ sub);
  return mehari_program_within(aTHX_ SvPV_nolen(file));
}

static int run_within(pTHX_ mehari_rec *sub)
{
  U8 task = sub->job.frame->task;
  if (is_perls(aTHX_ sub, task)) {
    open_environment(aTHX_ sub);
    int status = mehari_run_phase(aTHX_ sub, MEHARI_PHASE_RESPONSE);
    return status == DECLINED ? print_file(aTHX_ sub) : status == DONE ? OK : status;
  }
  switch (task) {
  case MEHARI_TASK_REGISTRY:
  case MEHARI_TASK_PERLRUN:
    mehari_environment_begin(aTHX);
    export_variables(aTHX_ sub);
    task == MEHARI_TASK_REGISTRY ? mehari_registry_serve(aTHX) : mehari_perlrun_serve(aTHX);
    return OK;
  case MEHARI_TASK_FORK:
    return run_program(aTHX_ sub);
  case MEHARI_TASK_FRONT:
    return is_program(sub) ? run_program(aTHX_ sub) : print_file(aTHX_ sub);
  default:
    mehari_logf(MEHARI_LOG_ERROR, "a sub-request can run a handler or a script, or send a file: not a PSGI application");
    return 500;
  }
}

int mehari_rec_run(pTHX_ mehari_rec *sub)
{
  mehari_rec *before = mehari_rec_now;
  const char *phase = mehari_phase_now;
  bool has_environment = mehari_rec_option(before, MEHARI_OPTION_SETUP_ENV) || is_of_a_worker(before->job.frame);
  bool prints_head = sub->job.frame->flags & MEHARI_FLAG_PARSE_HEADERS || (is_program(sub) && !is_perls(aTHX_ sub, sub->job.frame->task));
  mehari_output_enter(aTHX_ prints_head);
  mehari_rec_enter(sub);
  int status = sub->status >= 400 ? sub->status : run_within(aTHX_ sub);
  int within = mehari_output_leave(aTHX);
  mehari_rec_enter(before);
  mehari_phase_now = phase;
  if (has_environment && mehari_rec_option(before, MEHARI_OPTION_SETUP_ENV)) {
    mehari_environment_begin(aTHX);
    export_variables(aTHX_ before);
  }
  return status ? status : within;
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
