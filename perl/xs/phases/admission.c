/* Runs the phases before the response, in Apache's order: path, access, authentication,
 * authorisation.
 *
 * phases.c calls it for the client's request and for every sub-request. */
#include "phases/phases.h"
#include "phases/settings.h"
#include "api/api.h"
#include "mailbox/mailbox.h"
#include "request/record.h"
#include "response/response.h"

/* Follows a PerlTransHandler that chose another path or file. From here on the configuration of the
 * new path or file applies. */
static int follow_translation(pTHX_ mehari_rec *rec, int answered)
{
  bool has_file = mehari_is_changed(rec, MEHARI_REC_FILENAME) && rec->texts[MEHARI_REC_FILENAME];
  if (mehari_rec_is_proxied(aTHX_ rec)) /* nothing on this server answers */
    has_file = false;
  if (!has_file && !mehari_is_changed(rec, MEHARI_REC_URI))
    return OK;
  /* The rules of the server translate the path. */
  if (!has_file && answered == DECLINED && mehari_rec_has_place_rules(aTHX_ rec, MEHARI_PHASE_TRANS))
    return OK;
  SV *target = mehari_rec_target(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI), mehari_rec_text(aTHX_ rec, MEHARI_REC_ARGS));
  mehari_text file = mehari_text_of(aTHX_ rec->texts[MEHARI_REC_FILENAME]);
  mehari_text method = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_METHOD));
  has_file &= answered == OK;
  mehari_request *frame = mehari_lookup(rec, &(mehari_question){method, mehari_text_of(aTHX_ target), has_file ? &file : NULL, true});
  if (!frame)
    return 404;
  SvREFCNT_dec(rec->chosen_file);
  rec->chosen_file = has_file ? newSVpvn(file.at, file.length) : NULL;
  SV *handler = mehari_is_changed(rec, MEHARI_REC_HANDLER) && rec->texts[MEHARI_REC_HANDLER] ? sv_mortalcopy(rec->texts[MEHARI_REC_HANDLER]) : NULL;
  bool has_rest = has_file && mehari_is_changed(rec, MEHARI_REC_PATH_INFO) && rec->texts[MEHARI_REC_PATH_INFO];
  SV *rest = has_rest ? sv_mortalcopy(rec->texts[MEHARI_REC_PATH_INFO]) : NULL;
  mehari_rec_adopt(aTHX_ rec, frame);
  /* As in Apache, a whole file keeps the PATH_INFO that the handler has set. */
  if (rest && !frame->text[MEHARI_TEXT_PATH_INFO].length)
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_PATH_INFO, rest);
  /* As in Apache, the handler of the place comes before the handler that a translation has set. */
  if (handler && frame->task == MEHARI_TASK_FRONT && !(frame->flags & MEHARI_FLAG_PROGRAM))
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_HANDLER, handler);
  return OK;
}

/* Adds the challenge to a refusal: the front's lines, one per scheme. */
static void challenge(pTHX_ mehari_rec *rec)
{
  static const mehari_text field = {"WWW-Authenticate", 16};
  const mehari_job *rules = rec->merged.frame ? &rec->merged : &rec->job;
  mehari_text lines = mehari_job_text(rules, rules->frame->text[MEHARI_TEXT_CHALLENGE]);
  mehari_table *head = mehari_rec_table(rec, MEHARI_TABLE_ERR_HEADERS_OUT);
  mehari_table_unset(head, field);
  while (lines.length > field.length + 2) {
    const char *stop = memchr(lines.at, '\r', lines.length);
    STRLEN length = stop ? stop - lines.at : lines.length, start = field.length + 2;
    if (length > start)
      mehari_table_add(head, field, (mehari_text){lines.at + start, length - start});
    length = length + 2 > lines.length ? lines.length : length + 2;
    lines = (mehari_text){lines.at + length, lines.length - length};
  }
}

/* Returns the job with the front's results of the access rules. */
static const mehari_job *rules_of(const mehari_rec *rec) { return rec->merged.frame ? &rec->merged : &rec->job; }

static void log_refusal(pTHX_ mehari_rec *rec, const char *why)
{
  mehari_text uri = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI));
  mehari_logf(MEHARI_LOG_ERROR, "%.*s: %s", (int)uri.length, uri.at, why);
}

/* Logs the user in by the front's password check, because no handler has set the user. */
static int log_in(pTHX_ mehari_rec *rec)
{
  const mehari_job *rules = rules_of(rec);
  const mehari_request *frame = rules->frame;
  mehari_text user, type;
  bool is_digest;
  switch (frame->login) {
  case MEHARI_LOGIN_UNASKED:
  case MEHARI_LOGIN_NAMED:
  case MEHARI_LOGIN_SETTLED:
    return OK;
  case MEHARI_LOGIN_KNOWN:
    user = mehari_job_text(rules, frame->text[MEHARI_TEXT_USER]);
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_USER, newSVpvn_flags(user.at, user.length, SVs_TEMP));
    type = mehari_text_of(aTHX_ mehari_settings_text(aTHX_ rec->settings, "auth_type"));
    is_digest = type.length == 6 && strncasecmp(type.at, "digest", 6) == 0;
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_AUTH_TYPE, newSVpvn_flags(is_digest ? "Digest" : "Basic", is_digest ? 6 : 5, SVs_TEMP));
    return OK;
  case MEHARI_LOGIN_REFUSED:
    challenge(aTHX_ rec);
    return 401;
  case MEHARI_LOGIN_NO_REALM:
    log_refusal(aTHX_ rec, "this AuthType needs an AuthName");
    return 500;
  case MEHARI_LOGIN_NO_USER_FILE:
    log_refusal(aTHX_ rec, "this AuthType needs a readable AuthUserFile, or a PerlAuthenHandler that sets the user");
    return 500;
  default:
    log_refusal(aTHX_ rec, "the server cannot authenticate by this AuthType; expected Basic or Digest, or a PerlAuthenHandler that sets the user");
    return 500;
  }
}

/* Refuses a user who has not the right. */
static int deny_user(pTHX_ mehari_rec *rec)
{
  if (!mehari_settings_text(aTHX_ rec->settings, "auth_type") || mehari_settings_text(aTHX_ rec->settings, "forbids_on_failure"))
    return 403;
  challenge(aTHX_ rec);
  return 401;
}

/* Authenticates and authorises. Without a user the request is refused, whatever the
 * authorisation handlers return. */
static int authorize(pTHX_ mehari_rec *rec)
{
  int status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_AUTHEN);
  if (status == DECLINED)
    status = log_in(aTHX_ rec);
  if (status != OK)
    return status;
  if (!mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_USER)).length) {
    log_refusal(aTHX_ rec, "`Require` needs a user, and no handler has set one");
    return 500;
  }
  status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_AUTHZ);
  if (status != DECLINED)
    return status;
  uint64_t known = rules_of(rec)->frame->known;
  status = mehari_rec_authorize_again(aTHX_ rec, &known);
  if (status != OK)
    return status;
  mehari_verdict verdict = mehari_requirement_verdict(aTHX_ rec, mehari_rec_text(aTHX_ rec, MEHARI_REC_USER), known);
  if (verdict == MEHARI_GRANTED)
    return OK;
  if (verdict == MEHARI_DENIED)
    return deny_user(aTHX_ rec);
  challenge(aTHX_ rec);
  return 401;
}

/* Evaluates the `Require` rules. Authentication runs only if their result depends on the user. As
 * in Apache, a user whom a handler of an earlier phase has set counts. */
static int hold_requirement(pTHX_ mehari_rec *rec)
{
  if (!mehari_settings_text(aTHX_ rec->settings, "requirement")) {
    if (!mehari_settings_text(aTHX_ rec->settings, "auth_type"))
      return OK;
    log_refusal(aTHX_ rec, "AuthType without Require admits no user");
    return 500;
  }
  SV *user = mehari_rec_has_user(aTHX_ rec) ? rec->texts[MEHARI_REC_USER] : NULL;
  mehari_verdict verdict = mehari_requirement_verdict(aTHX_ rec, user, rules_of(rec)->frame->known);
  return verdict == MEHARI_GRANTED ? OK : verdict == MEHARI_NEEDS_USER ? authorize(aTHX_ rec) : 403;
}

static bool is_refused(pTHX_ mehari_rec *rec)
{
  return rules_of(rec)->frame->access_status || mehari_settings_text(aTHX_ rec->settings, "allowed");
}

/* Whether the outer or previous request was admitted by the same rules, with the same results of
 * the front. */
static bool is_admitted_alike(const mehari_rec *before, const mehari_rec *rec)
{
  const mehari_request *one = rules_of(before)->frame, *other = rules_of(rec)->frame;
  return before->is_admitted && before->settings == rec->settings && one->known == other->known && one->access_status == other->access_status;
}

/* Checks access, then authenticates. `Satisfy Any` authenticates only if the access rules refuse,
 * `Satisfy All` only if they grant. */
static int let_in(pTHX_ mehari_rec *rec)
{
  if (rec->job.frame->login == MEHARI_LOGIN_SETTLED && !rec->is_merged)
    return OK;
  mehari_rec *before = rec->main ? rec->main : rec->prev;
  if (before && is_admitted_alike(before, rec)) {
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_USER, mehari_rec_text(aTHX_ before, MEHARI_REC_USER));
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_AUTH_TYPE, mehari_rec_text(aTHX_ before, MEHARI_REC_AUTH_TYPE));
    return OK;
  }
  bool any = mehari_rec_satisfies(aTHX_ rec) == MEHARI_SATISFY_ANY;
  int status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_ACCESS);
  if (status == DECLINED)
    status = OK;
  if (status == OK)
    status = mehari_rec_check_again(aTHX_ rec);
  if (status == OK && is_refused(aTHX_ rec))
    status = 403;
  return (status == OK) == any ? status : hold_requirement(aTHX_ rec);
}

/* Sets the user whom `SSLUserName` takes from the TLS connection. As in Apache, this user replaces
 * another after the handlers of the fixup phase. */
static void name_user(pTHX_ mehari_rec *rec)
{
  const mehari_request *frame = rec->job.frame;
  mehari_text user = mehari_job_text(&rec->job, frame->text[MEHARI_TEXT_USER]);
  if (frame->login == MEHARI_LOGIN_NAMED && user.length)
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_USER, newSVpvn_flags(user.at, user.length, SVs_TEMP));
}

/* Shows the path to which the rules have led the request. `is_translated`: a handler has translated
 * the path as sent, so the rules do not apply. */
static void end_translation(pTHX_ mehari_rec *rec, bool is_translated)
{
  SV *asked = is_translated ? sv_mortalcopy(mehari_rec_text(aTHX_ rec, MEHARI_REC_URI)) : NULL;
  mehari_rec_show_target(aTHX_ rec, false);
  if (asked && !sv_eq(asked, mehari_rec_text(aTHX_ rec, MEHARI_REC_URI)))
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_URI, asked);
}

/* As in Apache, the handler of the place replaces a handler that an earlier phase has set. */
static void take_handler_of_place(pTHX_ mehari_rec *rec)
{
  const mehari_request *frame = rec->job.frame;
  if (frame->task == MEHARI_TASK_FRONT && !(frame->flags & MEHARI_FLAG_PROGRAM))
    return;
  SvREFCNT_dec(rec->texts[MEHARI_REC_HANDLER]);
  rec->texts[MEHARI_REC_HANDLER] = NULL;
  rec->changed &= ~(1u << MEHARI_REC_HANDLER);
}

/* Whether the phases ended the request with this value. */
static bool is_over(int status) { return status != OK && status != DECLINED; }

/* Runs the phases that a sub-request has for the index of a folder. As in Apache, the handlers ran
 * for the folder before. What they change now, they change in the request itself. */
static int prepare_index(pTHX_ mehari_rec *rec)
{
  rec->is_for_index = true;
  int status = let_in(aTHX_ rec);
  if (!is_over(status))
    status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_TYPE);
  if (!is_over(status))
    status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_FIXUP);
  rec->is_for_index = false;
  return !rec->main && mehari_output_is_complete() ? DONE : status;
}

/* Runs the phases. Returns DECLINED to continue with the response, DONE if the response is
 * complete, otherwise a status. */
int mehari_rec_prepare(pTHX_ mehari_rec *rec)
{
  /* A part of a page with server-side includes is a sub-request too. */
  bool is_sub = mehari_rec_is_within(rec);
  mehari_rec_show_folder(aTHX_ rec, true);
  const mehari_settings *place = rec->settings;
  for (int phase = is_sub ? MEHARI_PHASE_TRANS : 0; phase <= MEHARI_PHASE_FIXUP; phase++) {
    if (phase == MEHARI_PHASE_HEADER_PARSER && is_sub)
      continue;
    if (phase == MEHARI_PHASE_AUTHEN || phase == MEHARI_PHASE_AUTHZ)
      continue;
    if (phase == MEHARI_PHASE_TYPE)
      take_handler_of_place(aTHX_ rec);
    bool is_untranslated = phase <= MEHARI_PHASE_TRANS && mehari_rec_is_initial(rec) && mehari_rec_has_place_rules(aTHX_ rec, MEHARI_PHASE_TRANS);
    if (is_untranslated)
      mehari_rec_show_target(aTHX_ rec, true);
    bool is_unmapped = phase <= MEHARI_PHASE_TRANS && !is_sub;
    if (is_unmapped)
      mehari_rec_show_file(aTHX_ rec, false);
    int status = phase == MEHARI_PHASE_ACCESS ? let_in(aTHX_ rec) : mehari_run_phase(aTHX_ rec, phase);
    if (is_untranslated)
      end_translation(aTHX_ rec, phase == MEHARI_PHASE_TRANS && status == OK);
    if (is_unmapped)
      mehari_rec_show_file(aTHX_ rec, true);
    /* The handler has redirected the request, and the new request was answered. */
    if (!rec->main && mehari_output_is_complete())
      return DONE;
    int answered = status;
    if (phase == MEHARI_PHASE_TRANS && (status == OK || status == DECLINED))
      status = follow_translation(aTHX_ rec, status);
    if (status == OK || status == DECLINED)
      status = mehari_rec_find_place(aTHX_ rec, phase, answered);
    if (rec->settings != place && (status == OK || status == DECLINED)) {
      status = mehari_rec_hold_limits(aTHX_ rec);
      place = rec->settings;
    }
    if (phase == MEHARI_PHASE_HEADER_PARSER && (status == OK || status == DECLINED))
      status = mehari_rec_set_variables(aTHX_ rec);
    if (is_over(status))
      return status;
    rec->is_admitted |= phase == MEHARI_PHASE_ACCESS;
  }
  mehari_rec_show_folder(aTHX_ rec, false);
  int status = rec->job.frame->text[MEHARI_TEXT_FOLDER].length ? prepare_index(aTHX_ rec) : OK;
  if (is_over(status))
    return status;
  name_user(aTHX_ rec);
  return mehari_rec_fix_up(aTHX_ rec);
}

/* Checks access for a sub-request, which the front has not checked. */
int mehari_rec_admit(pTHX_ mehari_rec *rec)
{
  if (rec->settings && rec->settings->runs_phases) {
    mehari_rec_open_phases(rec);
    int status = mehari_rec_prepare(aTHX_ rec);
    mehari_rec_close_phases(aTHX_ rec);
    return status;
  }
  int status = rec->job.frame->access_status;
  if (status == 401)
    challenge(aTHX_ rec);
  else if (status >= 300 && status < 400) /* a redirect of the server's rules */
    mehari_rec_take_lines(rec, mehari_job_text(&rec->job, rec->job.frame->text[MEHARI_TEXT_CHALLENGE]));
  return status ? status : DECLINED;
}

/* ---- a phase by hand ---- */

/* Whether the credentials are the client's. The front has checked the client's credentials and
 * cannot check others. */
static bool are_the_clients(pTHX_ mehari_rec *rec)
{
  static const mehari_text field = {"Authorization", 13};
  const mehari_entry *now = mehari_table_find(mehari_rec_table(rec, MEHARI_TABLE_HEADERS_IN), field);
  mehari_text sent = {"", 0};
  for (int i = 0; i < rec->job.frame->field_count; i++) {
    mehari_text name = mehari_job_text(&rec->job, rec->job.fields[i].name);
    if (name.length == field.length && !strncasecmp(name.at, field.at, field.length))
      sent = mehari_job_text(&rec->job, rec->job.fields[i].value);
  }
  return (now ? now->value_length : 0) == sent.length && (!now || memEQ(now->value, sent.at, sent.length));
}

/* Whether the front has decided about access, because the location has no Perl handlers. */
static bool is_judged(const mehari_rec *rec) { return !rec->settings || !rec->settings->runs_phases; }

static int refuse_user(pTHX_ mehari_rec *rec)
{
  if (!are_the_clients(aTHX_ rec))
    log_refusal(aTHX_ rec, "credentials that a handler has set are for a PerlAuthenHandler: the server looks at the client's only");
  challenge(aTHX_ rec);
  return 401;
}

static int check_access(pTHX_ mehari_rec *rec)
{
  int status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_ACCESS);
  if (status != OK && status != DECLINED)
    return status;
  /* The user matters only in the next phase, so the next phase refuses a request without a user. */
  bool is_about_user = is_judged(rec) && rules_of(rec)->frame->access_status == 401;
  return is_refused(aTHX_ rec) && !is_about_user ? 403 : OK;
}

static int check_user(pTHX_ mehari_rec *rec)
{
  int status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_AUTHEN), judged = rules_of(rec)->frame->access_status;
  if (status != DECLINED)
    return status;
  if (is_judged(rec) && judged)
    return judged == 401 ? refuse_user(aTHX_ rec) : judged;
  /* The front's result for a location that `location_merge` put in force does not tell whether the
   * location requires a user. */
  bool asks_who = mehari_settings_text(aTHX_ rec->settings, "auth_type");
  if (!are_the_clients(aTHX_ rec) && (asks_who || rec->is_merged))
    return refuse_user(aTHX_ rec);
  if (!asks_who)
    return DECLINED;
  if (is_judged(rec))
    return OK;
  return rules_of(rec)->frame->login == MEHARI_LOGIN_KNOWN ? log_in(aTHX_ rec) : refuse_user(aTHX_ rec);
}

static int check_rights(pTHX_ mehari_rec *rec)
{
  int status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_AUTHZ), judged = rules_of(rec)->frame->access_status;
  bool asks_who = mehari_settings_text(aTHX_ rec->settings, "auth_type");
  if (status != DECLINED)
    return status;
  if (is_judged(rec) && (judged || asks_who))
    return judged ? judged : are_the_clients(aTHX_ rec) ? OK : refuse_user(aTHX_ rec);
  if (!mehari_settings_text(aTHX_ rec->settings, "requirement"))
    return asks_who ? 500 : DECLINED;
  uint64_t known = rules_of(rec)->frame->known;
  status = mehari_rec_authorize_again(aTHX_ rec, &known);
  if (status != OK)
    return status;
  if (mehari_requirement_verdict(aTHX_ rec, mehari_rec_text(aTHX_ rec, MEHARI_REC_USER), known) == MEHARI_GRANTED)
    return OK;
  return deny_user(aTHX_ rec);
}

int mehari_rec_check(pTHX_ mehari_rec *rec, int phase)
{
  if (rec->is_unmerged) {
    log_refusal(aTHX_ rec, "location_merge did not find its location: access is refused");
    return 403;
  }
  switch (phase) {
  case MEHARI_PHASE_ACCESS:
    return check_access(aTHX_ rec);
  case MEHARI_PHASE_AUTHEN:
    return check_user(aTHX_ rec);
  case MEHARI_PHASE_AUTHZ:
    return check_rights(aTHX_ rec);
  default:
    return mehari_run_phase(aTHX_ rec, phase);
  }
}

bool mehari_rec_merge(pTHX_ mehari_rec *rec, mehari_text location)
{
  mehari_request *frame = NULL;
  if (location.length && *location.at == '/')
    frame = mehari_lookup(rec, &(mehari_question){mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_METHOD)), location, NULL, true});
  rec->is_merged = frame;
  rec->is_unmerged = !frame;
  rec->is_admitted = false;
  Safefree((mehari_request *)rec->merged.frame);
  Zero(&rec->merged, 1, mehari_job);
  if (!frame)
    return false;
  rec->merged.frame = frame;
  rec->merged.base = (const char *)frame;
  rec->settings = mehari_settings_find(aTHX_ frame->settings_id, mehari_job_text(&rec->merged, frame->text[MEHARI_TEXT_SETTINGS]));
  return true;
}
