/* A page that the front makes as the response of a sub-request: a file with server-side includes,
 * or what neither Perl nor a file responds, such as a back end.
 *
 * The front makes the page step by step (server/pool/src/page.rs). This process prints the bytes
 * and runs the page's parts as sub-requests of the page. No part waits for another worker, so pages
 * cannot keep one another waiting. */
#include "phases/phases.h"
#include "api/api.h"
#include "mailbox/mailbox.h"
#include "request/record.h"
#include "response/response.h"

/* The most bytes of a page. The front has the same limit (server/front/src/handlers/ssi.rs). */
enum { LONGEST = 16 << 20 };

int mehari_pages_running;

/* Sets a variable of the page. As in Apache, an included page has the variables of its page. */
static void set_variable(mehari_rec *page, mehari_text pair)
{
  const char *stop = memchr(pair.at, '\0', pair.length);
  if (!stop)
    return;
  mehari_text name = {pair.at, stop - pair.at}, value = {stop + 1, pair.length - name.length - 1};
  for (mehari_rec *rec = page; rec; rec = rec->is_included ? rec->main : NULL)
    mehari_table_set(mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV), name, value);
}

static int run_new(pTHX_ mehari_rec *page, mehari_text target)
{
  static const mehari_text method = {"GET", 3};
  mehari_rec *part = mehari_rec_sub(aTHX_ page, target, NULL, method);
  if (!part)
    return 500;
  if (part->status && part->status != 200)
    return part->status;
  part->is_included = true;
  int status = mehari_rec_run(aTHX_ part);
  return status < 0 ? 500 : status;
}

/* Runs a part. Returns 0, or the status with which the part has failed. As in Apache, the part ends
 * when it has run, because a page may have many parts. */
static int run_part(pTHX_ mehari_rec *page, mehari_text target)
{
  mehari_rec *before = mehari_rec_newest();
  int status = run_new(aTHX_ page, target);
  mehari_rec_end_newer(aTHX_ before);
  return status;
}

/* Gives the sub-request the head of its response. */
static void take_head(pTHX_ mehari_rec *page, mehari_text head)
{
  uint16_t status;
  if (head.length < sizeof status)
    return;
  memcpy(&status, head.at, sizeof status);
  page->status = status;
  head = (mehari_text){head.at + sizeof status, head.length - sizeof status};
  while (head.length)
    mehari_rec_hear_line(aTHX_ page, mehari_first_line(&head));
}

/* Carries out the actions of an answer. Returns whether the page has ended. Sets `status` to that
 * of the page or of the part. */
static bool carry_out(pTHX_ mehari_rec *page, SV *answer, int *status)
{
  const char *at = SvPVX(answer), *end = at + SvCUR(answer);
  *status = 0;
  while (at < end) {
    uint32_t length;
    uint16_t said;
    char kind = *at++;
    if ((size_t)(end - at) < sizeof length)
      break;
    memcpy(&length, at, sizeof length);
    at += sizeof length;
    if ((size_t)(end - at) < length)
      break;
    mehari_text text = {at, length};
    at += length;
    switch (kind) {
    case MEHARI_PAGE_PRINT:
      mehari_output_write(text.at, text.length);
      continue;
    case MEHARI_PAGE_SET:
      set_variable(page, text);
      continue;
    case MEHARI_PAGE_RUN:
      *status = run_part(aTHX_ page, text);
      return false;
    case MEHARI_PAGE_HEAD:
      take_head(aTHX_ page, text);
      continue;
    case MEHARI_PAGE_LEAD:
      SvREFCNT_dec(page->redirect);
      page->redirect = newSVpvn(text.at, text.length);
      return true;
    case MEHARI_PAGE_END:
      if (length == sizeof said) {
        memcpy(&said, text.at, sizeof said);
        *status = said;
        return true;
      }
    }
    break;
  }
  if (at == end && SvCUR(answer))
    return false;
  *status = 500;
  return true;
}

static void go_on(pTHX_ const mehari_rec *page, mehari_page_step step, SV *answer)
{
  mehari_text said = {(const char *)&step, sizeof step};
  said = mehari_ask_page(page->job.frame->server, &said, 1);
  sv_setpvn(answer, said.at, said.length);
}

int mehari_page_run(pTHX_ mehari_rec *page, uint8_t kind)
{
  int depth = mehari_pages_running++, status = 500;
  mehari_page_step step = {kind, depth, 0};
  ENTER;
  SV *answer = newSVpvs("");
  SAVEFREESV(answer);
  SAVETMPS;
  mehari_text said = mehari_begin_page(aTHX_ page, step);
  sv_setpvn(answer, said.at, said.length);
  while (!carry_out(aTHX_ page, answer, &status)) {
    FREETMPS;
    if (mehari_output_bytes() > LONGEST) {
      mehari_logf(MEHARI_LOG_ERROR, "the page becomes too long: %s", SvPV_nolen(mehari_rec_text(aTHX_ page, MEHARI_REC_FILENAME)));
      status = 500;
      break;
    }
    go_on(aTHX_ page, (mehari_page_step){MEHARI_PAGE_GO_ON, depth, status}, answer);
  }
  FREETMPS;
  LEAVE;
  mehari_pages_running = depth;
  return status;
}
