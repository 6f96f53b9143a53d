/* Tells the front what the access line says of the request as handlers have left it. As in Apache,
 * the access line is written after the Log handlers, so the front waits for them.
 *
 * response.c and hand_back.c call it before the response ends, and phases.c in the log phase. */
#include "phases/phases.h"
#include "api/api.h"
#include "mailbox/mailbox.h"
#include "request/record.h"
#include "response/head.h"
#include "response/response.h"

static bool has_entries(const mehari_held_table *held) { return held->is_filled && held->table->count; }

/* Whether handlers have changed anything that an access line may say. */
static bool is_changed(pTHX_ mehari_rec *rec)
{
  static const U32 texts = 1u << MEHARI_REC_URI | 1u << MEHARI_REC_FILENAME | 1u << MEHARI_REC_USER | 1u << MEHARI_REC_METHOD | 1u << MEHARI_REC_ARGS;
  if (rec->changed & texts || has_entries(&rec->tables[MEHARI_TABLE_NOTES]))
    return true;
  bool is_read = rec->tables[MEHARI_TABLE_HEADERS_IN].is_filled || rec->tables[MEHARI_TABLE_SUBPROCESS_ENV].is_filled;
  return is_read && mehari_rec_is_changed(aTHX_ rec);
}

static void add_pairs(SV *pairs, const mehari_held_table *held)
{
  if (held->is_filled)
    mehari_pairs_add(pairs, held->table);
}

static void add_text(pTHX_ SV *payload, char kind, mehari_rec *rec, int which)
{
  mehari_text text = mehari_text_of(aTHX_ rec->texts[which]);
  if (mehari_is_changed(rec, which) && text.length)
    mehari_part_add(payload, kind, text.at, text.length);
}

/* Returns the parts for the access line. After an internal redirect, as in Apache, the line has the
 * path of the client's request, and everything else of the last request. */
static SV *parts(pTHX_ mehari_rec *first, mehari_rec *last)
{
  SV *payload = mehari_rec_changes(aTHX_ last, false), *notes = newSVpvs_flags("", SVs_TEMP);
  add_text(aTHX_ payload, MEHARI_PASS_TARGET, first, MEHARI_REC_URI);
  add_text(aTHX_ payload, MEHARI_PASS_FILE, last, MEHARI_REC_FILENAME);
  add_text(aTHX_ payload, MEHARI_PASS_USER, last, MEHARI_REC_USER);
  add_text(aTHX_ payload, MEHARI_PASS_METHOD, last, MEHARI_REC_METHOD);
  add_pairs(notes, &last->tables[MEHARI_TABLE_NOTES]);
  if (SvCUR(notes))
    mehari_part_add(payload, MEHARI_PASS_NOTES, SvPVX(notes), SvCUR(notes));
  return payload;
}

/* Returns the fields of the response. As in Apache, the line does not say fields of
 * `err_headers_out` that are set after the head. The result is mortal. */
static SV *answered(pTHX_ mehari_rec *rec)
{
  SV *pairs = newSVpvs_flags("", SVs_TEMP);
  add_pairs(pairs, &rec->tables[MEHARI_TABLE_HEADERS_OUT]);
  return pairs;
}

static void add_status(SV *payload, const mehari_rec *rec)
{
  uint16_t status = rec->status;
  mehari_part_add(payload, MEHARI_PASS_STATUS, (const char *)&status, sizeof status);
}

/* Adds what handlers have changed of the response after its head was sent. */
static void add_late(pTHX_ SV *payload, mehari_rec *rec)
{
  SV *fields = answered(aTHX_ rec);
  int sent = mehari_response.status ? mehari_response.status : 200;
  /* A script prints its status. */
  if (!mehari_parse_headers && rec->status && rec->status != sent)
    add_status(payload, rec);
  if (SvCUR(fields))
    mehari_part_add(payload, MEHARI_PASS_ANSWERED, SvPVX(fields), SvCUR(fields));
}

static void tell(pTHX_ int detail, SV *payload)
{
  mehari_text text = mehari_text_of(aTHX_ payload);
  if (text.length > MEHARI_RECORD_LIMIT) {
    mehari_logf(MEHARI_LOG_WARN, "the access line lacks what handlers have changed, which is larger than %u bytes", MEHARI_RECORD_LIMIT);
    text.length = 0;
  }
  mehari_ring_put(MEHARI_RECORD_LOGGED, detail, &text, 1);
}

static mehari_rec *last_of(mehari_rec *rec)
{
  while (rec->next)
    rec = rec->next;
  return rec;
}

void mehari_rec_tell_log(pTHX)
{
  mehari_rec *last = mehari_rec_now;
  if (!last)
    return;
  while (last->main)
    last = last->main;
  last = last_of(last);
  mehari_rec *first = last;
  while (first->prev)
    first = first->prev;
  if (first->is_announced || first->job.frame->task == MEHARI_TASK_CONNECTION)
    return;
  bool is_sent = mehari_output_sent(), logs = mehari_rec_logs(first);
  bool changes = is_sent || is_changed(aTHX_ last) || mehari_is_changed(first, MEHARI_REC_URI);
  if (!logs && !changes)
    return;
  first->is_announced = true;
  SV *payload = changes ? parts(aTHX_ first, last) : NULL;
  if (is_sent)
    add_late(aTHX_ payload, last);
  tell(aTHX_ logs ? MEHARI_LOGGED_LATER : MEHARI_LOGGED_NOW, payload);
}

void mehari_rec_run_log(pTHX_ mehari_rec *rec)
{
  mehari_rec *last = last_of(rec);
  int status = rec->status;
  SV *before = SvREFCNT_inc(answered(aTHX_ last));
  mehari_run_phase(aTHX_ rec, MEHARI_PHASE_LOG);
  SV *after = answered(aTHX_ last), *payload = parts(aTHX_ rec, last);
  if (rec->status != status)
    add_status(payload, rec);
  if (!sv_eq(before, after) && SvCUR(after))
    mehari_part_add(payload, MEHARI_PASS_ANSWERED, SvPVX(after), SvCUR(after));
  SvREFCNT_dec(before);
  if (!rec->is_announced)
    return;
  tell(aTHX_ MEHARI_LOGGED_LAST, payload);
  mehari_ring_publish();
}
