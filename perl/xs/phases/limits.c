/* Applies the limits of the place to which handlers have led the client's request:
 * LimitRequestBody, and the limits of running requests and of rates. The front has applied those of
 * the path as sent and read the whole body, before it has given the request to the worker. */
#include "phases/phases.h"
#include "phases/settings.h"
#include "api/api.h"
#include "mailbox/mailbox.h"
#include "request/record.h"
#include <stdlib.h>

static bool is_body_too_large(pTHX_ mehari_rec *rec)
{
  SV *limit = mehari_settings_text(aTHX_ rec->settings, "body_limit");
  return limit && rec->job.frame->body_length > strtoull(SvPV_nolen(limit), NULL, 10);
}

/* Asks the front, which counts requests. */
static int hold_traffic(pTHX_ mehari_rec *rec)
{
  mehari_job answer;
  if (!mehari_rec_ask_rules(aTHX_ rec, MEHARI_LEFT_LIMITS, &answer))
    return 500;
  int status = answer.frame->access_status;
  if (status == MEHARI_FIXUPS_GO_ON)
    return OK;
  mehari_text lines = mehari_job_text(&answer, answer.frame->text[MEHARI_TEXT_CHALLENGE]);
  mehari_table_take_lines(mehari_rec_table(rec, MEHARI_TABLE_ERR_HEADERS_OUT), lines);
  return status;
}

int mehari_rec_hold_limits(pTHX_ mehari_rec *rec)
{
  if (!mehari_rec_is_initial(rec))
    return OK;
  if (is_body_too_large(aTHX_ rec)) {
    mehari_logf(MEHARI_LOG_ERROR, "the body is larger than LimitRequestBody");
    return 413;
  }
  /* The front knows no place of `location_merge`. */
  bool is_counted = !rec->is_merged && mehari_settings_text(aTHX_ rec->settings, "traffic");
  return is_counted ? hold_traffic(aTHX_ rec) : OK;
}
