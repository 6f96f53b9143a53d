/* Internal redirects: a request continues as another request in the same worker. */
#include "phases/phases.h"
#include "api/api.h"
#include "mailbox/mailbox.h"
#include "request/record.h"
#include "response/response.h"

/* Passes the handlers' variables to the next request, with the prefix REDIRECT_, as in Apache. The
 * variables about the path are among those of `PerlOptions +SetupEnv`. */
static void inherit_variables(pTHX_ mehari_rec *rec, int error)
{
  mehari_table *from = mehari_rec_table(rec->prev, MEHARI_TABLE_SUBPROCESS_ENV), *into = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  char name[256], digits[12];
  for (int i = 0; i < from->count; i++) {
    STRLEN length = MEHARI_FORMAT(name, "REDIRECT_%s", from->entries[i].name);
    if (length < sizeof name - 1) /* a longer name is cut */
      mehari_table_set(into, (mehari_text){name, length}, (mehari_text){from->entries[i].value, from->entries[i].value_length});
  }
  STRLEN length = MEHARI_FORMAT(digits, "%d", rec->status ? rec->status : 200);
  mehari_table_set(into, (mehari_text){"REDIRECT_STATUS", 15}, (mehari_text){digits, length});
  if (error) {
    const mehari_entry *notes = mehari_table_find(mehari_rec_table(rec->prev, MEHARI_TABLE_NOTES), (mehari_text){"error-notes", 11});
    mehari_table_set(into, (mehari_text){"REDIRECT_REQUEST_METHOD", 23}, mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec->prev, MEHARI_REC_METHOD)));
    if (notes)
      mehari_table_set(into, (mehari_text){"REDIRECT_ERROR_NOTES", 20}, (mehari_text){notes->value, notes->value_length});
  }
  if (rec->job.frame->task != MEHARI_TASK_HANDLER || mehari_rec_option(rec, MEHARI_OPTION_SETUP_ENV))
    mehari_rec_name_previous(aTHX_ rec);
}

void mehari_rec_name_previous(pTHX_ mehari_rec *rec)
{
  if (!rec->prev)
    return;
  mehari_table *table = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  mehari_text query = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec->prev, MEHARI_REC_ARGS));
  mehari_table_set(table, (mehari_text){"REDIRECT_URL", 12}, mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec->prev, MEHARI_REC_URI)));
  if (query.length)
    mehari_table_set(table, (mehari_text){"REDIRECT_QUERY_STRING", 21}, query);
}

/* Passes err_headers_out to the next request, because these fields belong to the final response. An
 * error document can therefore still set and clear cookies. */
static void inherit_error_head(mehari_rec *rec)
{
  const mehari_table *from = rec->prev->tables[MEHARI_TABLE_ERR_HEADERS_OUT].table;
  for (int i = 0; from && i < from->count; i++) {
    const mehari_entry *entry = &from->entries[i];
    mehari_table_add(mehari_rec_table(rec, MEHARI_TABLE_ERR_HEADERS_OUT), (mehari_text){entry->name, entry->name_length}, (mehari_text){entry->value, entry->value_length});
  }
}

void mehari_rec_inherit(pTHX_ mehari_rec *rec, int error)
{
  inherit_variables(aTHX_ rec, error);
  inherit_error_head(rec);
}

int mehari_rec_error(const mehari_rec *rec)
{
  for (; rec->prev; rec = rec->prev)
    if (rec->prev->status >= 400)
      return rec->prev->status;
  int status = rec->job.frame->redirect_status;
  return status >= 400 ? status : 0;
}

bool mehari_rec_is_initial(const mehari_rec *rec)
{
  const mehari_request *frame = rec->job.frame;
  return !rec->main && !rec->prev && !frame->redirect_status && !(frame->flags & MEHARI_FLAG_WITHIN);
}

static mehari_text variable(const mehari_rec *rec, const char *name)
{
  size_t length = strlen(name);
  for (int i = 0; i < rec->job.frame->variable_count; i++) {
    mehari_text known = mehari_job_text(&rec->job, rec->job.variables[i].name);
    if (known.length == length && memEQ(known.at, name, length))
      return mehari_job_text(&rec->job, rec->job.variables[i].value);
  }
  return (mehari_text){"", 0};
}

/* Appends a decoded path to a target. */
static void append_path(pTHX_ SV *target, mehari_text path)
{
  for (size_t i = 0; i < path.length; i++) {
    unsigned char byte = (unsigned char)path.at[i];
    if (byte <= ' ' || byte >= 0x7f || byte == '%' || byte == '?' || byte == '#')
      sv_catpvf(target, "%%%02X", byte);
    else
      sv_catpvn(target, path.at + i, 1);
  }
}

/* Returns the previous request. Another worker may have served it, so its record is rebuilt from
 * the REDIRECT_ variables. */
mehari_rec *mehari_rec_previous(pTHX_ mehari_rec *rec)
{
  mehari_text query, path = variable(rec, "REDIRECT_URL");
  if (rec->prev || rec->recalled || !path.length || !rec->job.frame->redirect_status)
    return rec->prev ? rec->prev : rec->recalled;
  SV *target = newSVpvn_flags("", 0, SVs_TEMP);
  append_path(aTHX_ target, path);
  query = variable(rec, "REDIRECT_QUERY_STRING");
  if (query.length)
    sv_catpvf(target, "?%.*s", (int)query.length, query.at);
  mehari_text method = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_METHOD));
  mehari_request *frame = mehari_lookup(rec, &(mehari_question){.method = method, .target = mehari_text_of(aTHX_ target)});
  if (!frame)
    return NULL;
  rec->recalled = mehari_rec_new(aTHX_ frame);
  rec->recalled->status = rec->job.frame->redirect_status;
  rec->recalled->next = rec;
  return rec->recalled;
}

/* Continues the request as another request. Only the log and the cleanup of `rec` remain. `error`:
 * the status whose page the other request makes, or 0. As in Apache, a handler may have set a
 * status for the other request. */
void mehari_rec_follow(pTHX_ mehari_rec *rec, mehari_request *frame, int error)
{
  mehari_rec *next = mehari_rec_new(aTHX_ frame);
  const char *before = mehari_phase_now;
  next->prev = rec;
  rec->next = next;
  next->status = error ? error : rec->status;
  if (!error) { /* only a redirect without an error keeps the body */
    next->job.body = mehari_now.body;
    next->job.body_length = mehari_now.body_length;
    next->job.body_file = mehari_now.body_file;
  }
  mehari_rec_enter(next);
  mehari_rec_inherit(aTHX_ next, error);
  /* As in Apache: an error page is requested with GET, whatever the original method. */
  SV *method = sv_mortalcopy(mehari_rec_text(aTHX_ rec, MEHARI_REC_METHOD));
  if (error && strNE(SvPV_nolen(method), "HEAD"))
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_METHOD, newSVpvs_flags("GET", SVs_TEMP));
  int outcome = mehari_rec_admit(aTHX_ next);
  if (outcome == DECLINED)
    mehari_rec_respond(aTHX_ next);
  else
    mehari_rec_end(aTHX_ next, outcome);
  mehari_rec_set_text(aTHX_ rec, MEHARI_REC_METHOD, method);
  rec->job.body_file = mehari_now.body_file;
  if (!error) {
    rec->job.body = mehari_now.body;
    rec->job.body_length = mehari_now.body_length;
  }
  mehari_rec_enter(rec);
  mehari_phase_now = before;
}

enum { DEEPEST = 10 }; /* Apache's LimitInternalRecursion */

bool mehari_rec_is_too_deep(const mehari_rec *rec, const char *how, mehari_text target)
{
  int count = 0;
  if (mehari_subrequests_running >= DEEPEST)
    rec = NULL, count = DEEPEST + 1;
  for (; rec; rec = rec->main ? rec->main : rec->prev)
    count += 1 + rec->job.frame->depth;
  if (count > DEEPEST)
    mehari_logf(MEHARI_LOG_ERROR, "%s more than %d times: %.*s", how, DEEPEST, (int)target.length, target.at);
  return count > DEEPEST;
}

/* Copies a target. Bytes that no request line may contain are encoded. */
static SV *copy_target(pTHX_ mehari_text target)
{
  SV *copy = newSVpvs_flags("", SVs_TEMP);
  for (size_t i = 0; i < target.length; i++) {
    unsigned char byte = (unsigned char)target.at[i];
    if (byte <= ' ' || byte >= 0x7f)
      sv_catpvf(copy, "%%%02X", byte);
    else
      sv_catpvn(copy, target.at + i, 1);
  }
  return copy;
}

void mehari_rec_redirect(pTHX_ mehari_rec *rec, mehari_text target)
{
  if (!rec->main)
    mehari_output_discard_own(); /* as in mod_perl, text that was not flushed is lost */
  /* The next question overwrites an answer that holds the target. */
  SV *copy = copy_target(aTHX_ target);
  target = mehari_text_of(aTHX_ copy);
  if (mehari_rec_is_too_deep(rec, "redirected within the server", target)) {
    mehari_rec_end(aTHX_ rec, 500);
    return;
  }
  mehari_text method = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_METHOD));
  mehari_request *frame = mehari_lookup(rec, &(mehari_question){.method = method, .target = target, .has_body = true, .is_led = true});
  if (!frame)
    mehari_rec_end(aTHX_ rec, 404);
  else if (frame->task == MEHARI_TASK_FRONT && !rec->main) {
    /* The front continues, because it knows what responds at the path, and the path's rules. */
    Safefree(frame);
    mehari_rec_restate(aTHX_ rec);
    mehari_table_clear(mehari_rec_table(rec, MEHARI_TABLE_HEADERS_OUT)); /* as in Apache, unlike those for errors */
    SvREFCNT_dec(rec->redirect);
    rec->redirect = newSVsv(copy);
    mehari_rec_hand_back(aTHX_ rec, 0);
  } else
    mehari_rec_follow(aTHX_ rec, frame, 0);
}
