/* The phases before the response, in Apache's order: what path is meant, who asks, and whether they may.
 *
 * Called by phases.c for the request itself, and for every request made within it.
 */
#include "phases.h"

/* A PerlTransHandler named another path, or the file itself: what is configured for that holds from here on. */
static int follow_translation(pTHX_ mehari_rec *rec, int answered)
{
  bool has_file = mehari_is_changed(rec, MEHARI_REC_FILENAME) && rec->texts[MEHARI_REC_FILENAME];
  if (!has_file && !mehari_is_changed(rec, MEHARI_REC_URI))
    return OK;
  SV *target = mehari_rec_target(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI), mehari_rec_text(aTHX_ rec, MEHARI_REC_ARGS));
  mehari_text file = mehari_text_of(aTHX_ rec->texts[MEHARI_REC_FILENAME]);
  mehari_text method = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_METHOD));
  mehari_question question = {method, mehari_text_of(aTHX_ target), has_file && answered == OK ? &file : NULL, true};
  mehari_request *frame = mehari_lookup(rec, &question);
  if (!frame)
    return 404;
  mehari_rec_adopt(aTHX_ rec, frame);
  return OK;
}

/* Who is not let in is asked who else he may be: in the front's words, a line for each way. */
static void challenge(pTHX_ mehari_rec *rec)
{
  static const mehari_text field = {"WWW-Authenticate", 16};
  mehari_text lines = mehari_job_text(&rec->job, rec->job.frame->text[MEHARI_TEXT_CHALLENGE]);
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

static void log_refusal(pTHX_ mehari_rec *rec, const char *why)
{
  mehari_text uri = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI));
  mehari_logf(MEHARI_LOG_ERROR, "%.*s: %s", (int)uri.length, uri.at, why);
}

/* The front has looked at the password, for the case that no handler says who it is. */
static int log_in(pTHX_ mehari_rec *rec)
{
  const mehari_request *frame = rec->job.frame;
  mehari_text user, type;
  bool is_digest;
  switch (frame->login) {
  case MEHARI_LOGIN_UNASKED:
    return OK;
  case MEHARI_LOGIN_KNOWN:
    user = mehari_job_text(&rec->job, frame->text[MEHARI_TEXT_USER]);
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
    log_refusal(aTHX_ rec, "this AuthType needs an AuthUserFile that can be read, or a PerlAuthenHandler that says who the user is");
    return 500;
  default:
    log_refusal(aTHX_ rec, "nobody knows the users of this AuthType; expected Basic or Digest, or a PerlAuthenHandler that says who the user is");
    return 500;
  }
}

/* Who it is, and what that user may. Where nobody has said who it is the answer is no, whatever handlers say of what he
 * may. */
static int authorize(pTHX_ mehari_rec *rec)
{
  int status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_AUTHEN);
  if (status == DECLINED)
    status = log_in(aTHX_ rec);
  if (status != OK)
    return status;
  SV *user = mehari_rec_text(aTHX_ rec, MEHARI_REC_USER);
  if (!mehari_text_of(aTHX_ user).length) {
    log_refusal(aTHX_ rec, "`Require` asks for a user, and nobody has said who the user is");
    return 500;
  }
  status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_AUTHZ);
  if (status != DECLINED)
    return status;
  mehari_verdict verdict = mehari_verdict_on(aTHX_ rec, user);
  if (verdict == MEHARI_GRANTED)
    return OK;
  if (verdict == MEHARI_DENIED && !mehari_settings_text(aTHX_ rec->settings, "auth_type"))
    return 403;
  challenge(aTHX_ rec);
  return 401;
}

/* What the requirement says; only where it depends on the user is anybody asked who that is. */
static int hold_requirement(pTHX_ mehari_rec *rec)
{
  if (!mehari_settings_text(aTHX_ rec->settings, "requirement")) {
    if (!mehari_settings_text(aTHX_ rec->settings, "auth_type"))
      return OK;
    log_refusal(aTHX_ rec, "AuthType says how users are known, and no Require who of them may come");
    return 500;
  }
  mehari_verdict verdict = mehari_verdict_on(aTHX_ rec, NULL);
  return verdict == MEHARI_GRANTED ? OK : verdict == MEHARI_NEEDS_USER ? authorize(aTHX_ rec) : 403;
}

static bool is_refused(pTHX_ mehari_rec *rec)
{
  return rec->job.frame->access_status || mehari_settings_text(aTHX_ rec->settings, "allowed");
}

/* The request around it, or before it, was let in by the same rules, of which the front knows the same. */
static bool is_admitted_alike(const mehari_rec *before, const mehari_rec *rec)
{
  const mehari_request *one = before->job.frame, *other = rec->job.frame;
  return before->is_admitted && before->settings == rec->settings && one->known == other->known && one->access_status == other->access_status;
}

/* `Satisfy Any` asks who comes only if the place he comes from is not enough, `All` only if it is. */
static int let_in(pTHX_ mehari_rec *rec)
{
  mehari_rec *before = rec->main ? rec->main : rec->prev;
  if (before && is_admitted_alike(before, rec)) {
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_USER, mehari_rec_text(aTHX_ before, MEHARI_REC_USER));
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_AUTH_TYPE, mehari_rec_text(aTHX_ before, MEHARI_REC_AUTH_TYPE));
    return OK;
  }
  mehari_text satisfy = mehari_text_of(aTHX_ mehari_settings_text(aTHX_ rec->settings, "satisfy"));
  bool any = satisfy.length == 3 && memEQ(satisfy.at, "any", 3);
  int status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_ACCESS);
  if (status == DECLINED)
    status = OK;
  if (status == OK && is_refused(aTHX_ rec))
    status = 403;
  return (status == OK) == any ? status : hold_requirement(aTHX_ rec);
}

/* DECLINED: go on to the response. DONE: it is complete. Else a status. */
int mehari_rec_prepare(pTHX_ mehari_rec *rec)
{
  for (int phase = rec->main ? MEHARI_PHASE_TRANS : 0; phase <= MEHARI_PHASE_FIXUP; phase++) {
    if (phase == MEHARI_PHASE_HEADER_PARSER && rec->main)
      continue;
    if (phase == MEHARI_PHASE_AUTHEN || phase == MEHARI_PHASE_AUTHZ)
      continue;
    int status = phase == MEHARI_PHASE_ACCESS ? let_in(aTHX_ rec) : mehari_run_phase(aTHX_ rec, phase);
    if (!rec->main && mehari_output_is_complete()) /* the handler has redirected: that request was answered */
      return DONE;
    if (phase == MEHARI_PHASE_TRANS && (status == OK || status == DECLINED))
      status = follow_translation(aTHX_ rec, status);
    if (status != OK && status != DECLINED)
      return status;
    rec->is_admitted |= phase == MEHARI_PHASE_ACCESS;
  }
  return DECLINED;
}

/* Likewise of a request made within another, which the front has not stopped at its own gate. */
int mehari_rec_admit(pTHX_ mehari_rec *rec)
{
  if (rec->settings && rec->settings->runs_phases)
    return mehari_rec_prepare(aTHX_ rec);
  return rec->job.frame->access_status ? rec->job.frame->access_status : DECLINED;
}
