/* Tells the front the user that a handler has set, for the access log and for programs that the
 * front starts. */
#include "phases/phases.h"
#include "api/api.h"
#include "mailbox/mailbox.h"
#include "request/record.h"

#define LONGEST 4096

/* Whether the front itself has noted the user. It notes none where a handler authenticates. */
static bool is_known_to_front(mehari_rec *rec, mehari_text user)
{
  mehari_text known = mehari_job_text(&rec->job, rec->job.frame->text[MEHARI_TEXT_USER]);
  if (rec->settings && rec->settings->handlers[MEHARI_PHASE_AUTHEN])
    return false;
  return rec->job.frame->login == MEHARI_LOGIN_KNOWN && known.length == user.length && memEQ(known.at, user.at, user.length);
}

static bool is_tellable(mehari_text text) { return text.length && text.length <= LONGEST && !memchr(text.at, 0, text.length); }

void mehari_rec_tell_user(pTHX_ mehari_rec *rec)
{
  SV *said = rec->texts[MEHARI_REC_USER];
  if (!mehari_is_changed(rec, MEHARI_REC_USER) || !said || (rec->user_reported && sv_eq(rec->user_reported, said)))
    return;
  mehari_text user = mehari_text_of(aTHX_ said), type = mehari_text_of(aTHX_ rec->texts[MEHARI_REC_AUTH_TYPE]);
  if (!is_tellable(user))
    return;
  if (!is_tellable(type))
    type.length = 0;
  mehari_text parts[] = {type, user};
  mehari_ring_put(MEHARI_RECORD_USER, type.length, parts, 2);
  SvREFCNT_dec(rec->user_reported);
  rec->user_reported = newSVpvn(user.at, user.length);
}

/* Tells the front the user before the response, once for each user that a handler sets. */
void mehari_rec_report_user(pTHX_ mehari_rec *rec)
{
  if (!mehari_is_changed(rec, MEHARI_REC_USER))
    return;
  if (rec->user_reported || !is_known_to_front(rec, mehari_text_of(aTHX_ rec->texts[MEHARI_REC_USER])))
    mehari_rec_tell_user(aTHX_ rec);
}

bool mehari_rec_is_user_known(pTHX_ mehari_rec *rec)
{
  SV *user = rec->texts[MEHARI_REC_USER];
  if (!mehari_is_changed(rec, MEHARI_REC_USER) || !user)
    return !rec->user_reported;
  return rec->user_reported ? sv_eq(rec->user_reported, user) : is_known_to_front(rec, mehari_text_of(aTHX_ user));
}

bool mehari_rec_has_user(pTHX_ mehari_rec *rec)
{
  static const mehari_text claimed = {"AP_GET_BASIC_AUTH_PW_NOTE", 25};
  const mehari_held_table *notes = &rec->tables[MEHARI_TABLE_NOTES];
  if (!mehari_is_changed(rec, MEHARI_REC_USER) || !rec->texts[MEHARI_REC_USER])
    return false;
  return !notes->is_filled || !mehari_table_find(notes->table, claimed);
}
