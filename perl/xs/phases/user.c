/* Tells the front the user that a handler has set, for the access log and for programs that the
 * front starts. */
#include "phases/phases.h"
#include "mailbox/mailbox.h"
#include "request/record.h"

#define LONGEST 4096

static bool is_known_to_front(mehari_rec *rec, mehari_text user)
{
  mehari_text known = mehari_job_text(&rec->job, rec->job.frame->text[MEHARI_TEXT_USER]);
  return rec->job.frame->login == MEHARI_LOGIN_KNOWN && known.length == user.length && memEQ(known.at, user.at, user.length);
}

static bool is_tellable(mehari_text text) { return text.length && text.length <= LONGEST && !memchr(text.at, 0, text.length); }

/* Tells the front the user before the response, once for each user that a handler sets. */
void mehari_rec_report_user(pTHX_ mehari_rec *rec)
{
  SV *said = rec->texts[MEHARI_REC_USER];
  if (!mehari_is_changed(rec, MEHARI_REC_USER) || !said || (rec->user_reported && sv_eq(rec->user_reported, said)))
    return;
  mehari_text user = mehari_text_of(aTHX_ said), type = mehari_text_of(aTHX_ rec->texts[MEHARI_REC_AUTH_TYPE]);
  if (!is_tellable(user) || is_known_to_front(rec, user))
    return;
  if (!is_tellable(type))
    type.length = 0;
  mehari_text parts[] = {type, user};
  mehari_ring_put(MEHARI_RECORD_USER, type.length, parts, 2);
  SvREFCNT_dec(rec->user_reported);
  rec->user_reported = newSVpvn(user.at, user.length);
}
