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
  mehari_request *frame = mehari_lookup(rec, mehari_text_of(aTHX_ target), has_file && answered == OK ? &file : NULL, true);
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
  mehari_text user = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_USER)), all = mehari_text_of(aTHX_ mehari_settings_text(aTHX_ rec->settings, "require"));
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
int mehari_rec_prepare(pTHX_ mehari_rec *rec)
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
int mehari_rec_admit(pTHX_ mehari_rec *rec)
{
  if (rec->settings && rec->settings->runs_phases)
    return mehari_rec_prepare(aTHX_ rec);
  return rec->job.frame->access_status ? rec->job.frame->access_status : DECLINED;
}
