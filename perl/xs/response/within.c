/* Responses within a response: the body of a sub-request becomes part of its main request's
 * body. */
#include "response/head.h"
#include "response/outgoing.h"
#include "response/response.h"
#include "api/api.h"
#include "phases/phases.h"
#include "request/record.h"
#include "stdio/standard.h"

typedef struct outer {
  struct outer *next;
  mehari_outgoing outgoing;
  bool parse_headers;
  mehari_head head;
  int status_within;
} outer;
static outer *around;
static int status_within; /* the status with which the inner response ended */

bool mehari_out_is_nested(void) { return around; }
void mehari_out_fail_nested(int status) { status_within = status; }

void mehari_output_enter(pTHX_ bool parse_headers)
{
  mehari_stdout_flush(aTHX);
  mehari_out_drain();
  outer *this = safemalloc(sizeof *this);
  *this = (outer){around, mehari_out, mehari_parse_headers, mehari_response, status_within};
  around = this;
  mehari_out = (mehari_outgoing){0};
  mehari_parse_headers = parse_headers;
  mehari_response = (mehari_head){0};
  status_within = 0;
}

/* Marks buffered output as filtered, so later output can follow it unfiltered. */
static void put_within(pTHX_ mehari_rec *sub, mehari_text printed)
{
  SV *made = newSVpvn(printed.at, printed.length);
  if (!mehari_filter_subrequest(aTHX_ sub, made)) {
    status_within = 500;
    SvREFCNT_dec(made);
    return;
  }
  mehari_text body = {SvPVX(made), SvCUR(made)};
  if (mehari_output_filter_runs() && !around)
    mehari_filter_insert(aTHX_ body);
  else if (mehari_output_gathers && !around && sub->filtered_from != 1) {
    mehari_rec_enter(sub->main);
    if (!mehari_out_filter(MEHARI_PART_MORE))
      status_within = 500;
    mehari_rec_enter(sub);
    mehari_out_reserve(body.length);
    mehari_bytes(mehari_out.buffer + mehari_out.filled, body.at, body.length);
    mehari_out.filled += body.length;
    mehari_out.clean += body.length;
    if (mehari_out.filled > FLUSH_AT)
      mehari_out_pass_on();
  } else
    mehari_out_take(body.at, body.length);
  SvREFCNT_dec(made);
}

/* Stores the head that a program of a sub-request has printed, as far as `$r` of the sub-request
 * shows it. */
static void take_head(pTHX_ mehari_rec *sub, mehari_text head)
{
  while (head.length) {
    mehari_text line = mehari_first_line(&head);
    if (line.length > 13 && !strncasecmp(line.at, "Content-Type:", 13)) {
      for (line.at += 13, line.length -= 13; line.length && *line.at == ' '; line.at++)
        line.length--;
      mehari_rec_set_text(aTHX_ sub, MEHARI_REC_CONTENT_TYPE, newSVpvn_flags(line.at, line.length, SVs_TEMP));
    } else if (line.length > 7 && !strncasecmp(line.at, "Status:", 7))
      sub->status = atoi(SvPV_nolen(newSVpvn_flags(line.at + 7, line.length - 7, SVs_TEMP)));
    else
      mehari_rec_hear_line(aTHX_ sub, line);
  }
}

/* Ends a response within another. Its body passes the sub-request's filters, and then the outer
 * response's filters from the place `filtered_from` on. */
int mehari_output_leave(pTHX_ mehari_rec *sub)
{
  mehari_stdout_flush(aTHX);
  mehari_out_drain();
  outer *this = around;
  mehari_outgoing within = mehari_out;
  size_t skip = mehari_parse_headers ? mehari_head_measure(within.buffer, within.filled) : 0;
  if (skip)
    take_head(aTHX_ sub, (mehari_text){within.buffer, skip});
  Safefree(mehari_response.lines);
  around = this->next;
  mehari_out = this->outgoing;
  mehari_parse_headers = this->parse_headers;
  mehari_response = this->head;
  int status_around = this->status_within;
  Safefree(this);
  if (within.buffer)
    put_within(aTHX_ sub, (mehari_text){within.buffer + skip, within.filled - skip});
  mehari_out.passed = mehari_out.body_bytes + mehari_out.filled;
  Safefree(within.buffer);
  int status = status_within;
  status_within = status_around;
  return status;
}
