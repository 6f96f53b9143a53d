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

/* Whom the requirement does not let in is asked who else he may be, as in Apache. */
static int refused(pTHX_ mehari_rec *rec)
{
  mehari_text type = mehari_text_of(aTHX_ mehari_settings_text(aTHX_ rec->settings, "auth_type"));
  SV *realm = mehari_settings_text(aTHX_ rec->settings, "auth_name");
  if (realm && type.length == 5 && !strncasecmp(type.at, "basic", 5)) {
    SV *line = sv_2mortal(newSVpvs("Basic realm=\""));
    mehari_text name = mehari_text_of(aTHX_ realm);
    for (STRLEN at = 0; at < name.length; at++)
      sv_catpvf(line, strchr("\"\\", name.at[at]) ? "\\%c" : "%c", name.at[at]);
    sv_catpvs(line, "\"");
    mehari_table_set(mehari_rec_table(rec, MEHARI_TABLE_ERR_HEADERS_OUT), (mehari_text){"WWW-Authenticate", 16}, mehari_text_of(aTHX_ line));
  }
  return 401;
}

/* Who it is, and what that user may. Where nobody decides the answer is no: to let a request in because every handler
 * declined would be a way around the password. */
static int authorize(pTHX_ mehari_rec *rec)
{
  bool has_authen = mehari_rec_handlers(rec, MEHARI_PHASE_AUTHEN);
  /* As in Apache: without a `Require` about users nobody is asked. */
  if (!mehari_settings_text(aTHX_ rec->settings, "require"))
    return DECLINED;
  if (!mehari_requires_user(aTHX_ rec))
    return mehari_is_let_in(aTHX_ rec, NULL) ? DECLINED : 403;
  int status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_AUTHEN);
  if (status == DECLINED && has_authen)
    mehari_logf(MEHARI_LOG_ERROR, "every PerlAuthenHandler declined: nobody has said who the user is");
  if (status != OK && (status != DECLINED || has_authen))
    return status == DECLINED ? 401 : status;
  status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_AUTHZ);
  if (status != DECLINED)
    return status;
  return mehari_is_let_in(aTHX_ rec, mehari_rec_text(aTHX_ rec, MEHARI_REC_USER)) ? OK : refused(aTHX_ rec);
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
