/* Hands a request back to the front by a MEHARI_RECORD_PASS. The record has the status or the
 * place, the type and the header lines. */
#include "phases/phases.h"
#include "api/api.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include "request/record.h"
#include "response/head.h"
#include "response/response.h"
#include <sys/stat.h>

/* Returns a path with its query, encoded as in a request line. */
SV *mehari_rec_target(pTHX_ SV *path, SV *query)
{
  static const char kept[] = "/-._~!$&'()*+,;=:@";
  mehari_text text = mehari_text_of(aTHX_ path);
  SV *target = newSVpvs_flags("", SVs_TEMP);
  for (STRLEN i = 0; i < text.length; i++) {
    U8 byte = text.at[i];
    if (isALPHANUMERIC_A(byte) || (byte && strchr(kept, byte)))
      sv_catpvn(target, (char *)&byte, 1);
    else
      sv_catpvf(target, "%%%02X", byte);
  }
  if (query && SvOK(query) && SvCUR(query)) {
    sv_catpvs(target, "?");
    sv_catsv(target, query);
  }
  return target;
}

SV *mehari_rec_found_at(pTHX_ mehari_rec *rec)
{
  const mehari_job *job = &rec->job;
  mehari_text name = mehari_job_text(job, job->frame->text[MEHARI_TEXT_SCRIPT_NAME]), info = mehari_job_text(job, job->frame->text[MEHARI_TEXT_PATH_INFO]);
  SV *path = newSVpvn_flags(name.at, name.length, SVs_TEMP);
  sv_catpvn(path, info.at, info.length);
  return mehari_rec_target(aTHX_ path, mehari_rec_text(aTHX_ rec, MEHARI_REC_ARGS));
}

void mehari_part_add(SV *payload, char kind, const char *at, STRLEN length)
{
  dTHX;
  uint32_t count = length;
  sv_catpvn(payload, &kind, 1);
  sv_catpvn(payload, (const char *)&count, sizeof count);
  sv_catpvn(payload, at, length);
}

static void add_text(pTHX_ SV *payload, char kind, mehari_rec *rec, int which)
{
  if (!(rec->changed & (1u << which)) || !rec->texts[which])
    return;
  STRLEN length;
  const char *text = SvPV(rec->texts[which], length);
  mehari_part_add(payload, kind, text, length);
}

bool mehari_rec_is_proxied(pTHX_ mehari_rec *rec)
{
  mehari_text file = mehari_text_of(aTHX_ rec->texts[MEHARI_REC_FILENAME]);
  SV *handler = rec->texts[MEHARI_REC_HANDLER];
  if (!mehari_is_changed(rec, MEHARI_REC_FILENAME) || file.length < 6 || !memEQ(file.at, "proxy:", 6))
    return false;
  return rec->numbers[MEHARI_NUMBER_PROXYREQ] > 0 || (handler && strEQ(SvPV_nolen(handler), "proxy-server"));
}

/* Whether the request is at another place than the front has found for it. */
static bool is_moved(const mehari_rec *rec) { return rec->own_frame && !rec->is_at_place; }

bool mehari_rec_is_translated(const mehari_rec *rec) { return is_moved(rec) && !rec->prev && !rec->main; }

bool mehari_rec_is_below_file(const mehari_rec *rec)
{
  const mehari_request *frame = rec->job.frame;
  return frame->task == MEHARI_TASK_FRONT && frame->text[MEHARI_TEXT_PATH_INFO].length && !mehari_is_changed(rec, MEHARI_REC_FILENAME);
}

/* Adds the path that a handler has chosen, and its file. */
static void add_moved(pTHX_ SV *payload, mehari_rec *rec, char kind)
{
  mehari_text target = mehari_text_of(aTHX_ mehari_rec_target(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI), mehari_rec_text(aTHX_ rec, MEHARI_REC_ARGS)));
  /* The index of a chosen folder is a file too. */
  bool has_file = mehari_is_changed(rec, MEHARI_REC_FILENAME) || (rec->chosen_file && rec->job.frame->text[MEHARI_TEXT_FOLDER].length);
  mehari_text file = mehari_text_of(aTHX_ has_file ? mehari_rec_text(aTHX_ rec, MEHARI_REC_FILENAME) : rec->chosen_file);
  mehari_part_add(payload, kind, target.at, target.length);
  if (file.length && mehari_rec_is_translated(rec))
    mehari_part_add(payload, MEHARI_PASS_FILE, file.at, file.length);
}

/* Adds the file, or the path without a file, that is to answer, if it differs from the front's
 * choice. */
static void add_place(pTHX_ SV *payload, mehari_rec *rec)
{
  struct stat found;
  bool is_chosen = mehari_is_changed(rec, MEHARI_REC_FILENAME);
  SV *file = mehari_rec_text(aTHX_ rec, MEHARI_REC_FILENAME);
  if (!is_chosen && !is_moved(rec))
    return;
  mehari_text text = mehari_text_of(aTHX_ file);
  if (mehari_rec_is_proxied(aTHX_ rec)) {
    mehari_part_add(payload, MEHARI_PASS_FILE, text.at, text.length);
    return;
  }
  /* The front sends the file of the path if a handler has declined. It never sends the file of a
   * program, a back end or a type map. */
  const mehari_request *frame = rec->job.frame;
  bool sends_file = frame->task == MEHARI_TASK_HANDLER || (frame->task == MEHARI_TASK_FRONT && (is_chosen || frame->sends_file));
  bool may_be_file = (is_chosen || !mehari_rec_is_translated(rec)) && sends_file && !mehari_rec_is_below_file(rec);
  bool is_file = may_be_file && stat(text.at, &found) == 0 && S_ISREG(found.st_mode);
  if (is_file || !is_moved(rec))
    mehari_part_add(payload, MEHARI_PASS_FILE, text.at, text.length);
  else
    add_moved(aTHX_ payload, rec, mehari_rec_is_translated(rec) ? MEHARI_PASS_MOVED : MEHARI_PASS_TARGET);
}

static void add_pair(SV *pairs, const mehari_entry *entry)
{
  dTHX;
  sv_catpvn(pairs, entry->name, entry->name_length + 1);
  sv_catpvn(pairs, entry->value, entry->value_length + 1);
}

void mehari_pairs_add(SV *pairs, const mehari_table *table)
{
  for (int i = 0; i < table->count; i++)
    add_pair(pairs, &table->entries[i]);
}

/* Adds the method, if handlers have set its name or its number. */
static void add_method(pTHX_ SV *payload, mehari_rec *rec)
{
  mehari_text name = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_METHOD)), numbered = mehari_rec_numbered_method(aTHX_ rec);
  bool is_one = name.length == numbered.length && memEQ(name.at, numbered.at, name.length);
  if (!mehari_is_changed(rec, MEHARI_REC_METHOD) && is_one)
    return;
  mehari_part_add(payload, MEHARI_PASS_METHOD, name.at, name.length);
  mehari_part_add(payload, MEHARI_PASS_NUMBERED, numbered.at, numbered.length);
}

/* Adds a pair, unless its text would end the pair early. */
static void add_texts(pTHX_ SV *pairs, const char *prefix, mehari_text name, mehari_text value)
{
  if (memchr(name.at, 0, name.length) || memchr(value.at, 0, value.length))
    return;
  sv_catpv(pairs, prefix);
  sv_catpvn(pairs, name.at, name.length);
  sv_catpvn(pairs, "", 1);
  sv_catpvn(pairs, value.at, value.length);
  sv_catpvn(pairs, "", 1);
}

/* Returns the variables that handlers have set, as pairs. */
static SV *changed_variables(pTHX_ mehari_rec *rec)
{
  const mehari_job *came = rec->restated ? &rec->came : &rec->job;
  const mehari_table *variables = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  SV *pairs = newSVpvs_flags("", SVs_TEMP);
  for (int i = 0; i < variables->count; i++) {
    const mehari_entry *entry = &variables->entries[i];
    /* The frame of a chosen path has the handlers' variables, which the front does not know. */
    if (mehari_rec_is_translated(rec) || !mehari_rec_had_variable(came, (mehari_text){entry->name, entry->name_length}, (mehari_text){entry->value, entry->value_length}))
      add_pair(pairs, entry);
  }
  return pairs;
}

static void add_pairs(SV *payload, char kind, const SV *pairs)
{
  if (SvCUR(pairs))
    mehari_part_add(payload, kind, SvPVX(pairs), SvCUR(pairs));
}

/* The most bytes of the reason of an error that a program gets. */
enum { LONGEST_REASON = 8192 };

/* Adds what a program that makes the page of an error gets, with the prefix REDIRECT_: the
 * variables that handlers have set, and the reason of the error. */
static void add_error_variables(pTHX_ SV *payload, mehari_rec *rec)
{
  SV *pairs = rec->tables[MEHARI_TABLE_SUBPROCESS_ENV].is_filled ? changed_variables(aTHX_ rec) : newSVpvs_flags("", SVs_TEMP);
  const mehari_held_table *notes = &rec->tables[MEHARI_TABLE_NOTES];
  const mehari_entry *reason = notes->is_filled ? mehari_table_find(notes->table, (mehari_text){"error-notes", 11}) : NULL;
  if (reason)
    add_texts(aTHX_ pairs, "", (mehari_text){"ERROR_NOTES", 11}, (mehari_text){reason->value, MIN(reason->value_length, LONGEST_REASON)});
  add_pairs(payload, MEHARI_PASS_VARIABLES, pairs);
}

/* Adds the handlers' changes of the request, for the front's program or back end, and for the
 * front's rules. The user is sent separately. */
static void add_request(pTHX_ SV *payload, mehari_rec *rec)
{
  const mehari_job *came = rec->restated ? &rec->came : &rec->job;
  const mehari_table *fields = mehari_rec_table(rec, MEHARI_TABLE_HEADERS_IN), *variables = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  SV *pairs = newSVpvs_flags("", SVs_TEMP);
  mehari_pairs_add(pairs, fields);
  mehari_part_add(payload, MEHARI_PASS_FIELDS, SvPVX(pairs), SvCUR(pairs));
  add_pairs(payload, MEHARI_PASS_VARIABLES, changed_variables(aTHX_ rec));
  SvCUR_set(pairs, 0);
  /* The variables of `SetEnv` are set after the early handlers. */
  for (int i = rec->is_early ? came->frame->set_env_count : 0; i < came->frame->variable_count; i++) {
    mehari_text name = mehari_job_text(came, came->variables[i].name);
    if (!mehari_table_find(variables, name)) {
      sv_catpvn(pairs, name.at, name.length);
      sv_catpvn(pairs, "", 1);
    }
  }
  add_pairs(payload, MEHARI_PASS_REMOVED, pairs);
  if (mehari_is_changed(rec, MEHARI_REC_ARGS)) {
    mehari_text query = mehari_text_of(aTHX_ rec->texts[MEHARI_REC_ARGS]);
    mehari_part_add(payload, MEHARI_PASS_QUERY, query.at, query.length);
  }
  add_method(aTHX_ payload, rec);
}

SV *mehari_rec_changes(pTHX_ mehari_rec *rec, bool with_place)
{
  SV *payload = newSVpvs_flags("", SVs_TEMP);
  if (with_place && is_moved(rec))
    add_moved(aTHX_ payload, rec, MEHARI_PASS_TARGET);
  if (rec->restated || mehari_rec_is_translated(rec) || mehari_rec_is_changed(aTHX_ rec))
    add_request(aTHX_ payload, rec);
  return payload;
}

static void add_variables(pTHX_ SV *pairs, mehari_rec *rec, const mehari_question *question)
{
  const char *prefix = question->is_led ? "REDIRECT_" : "";
  const mehari_held_table *held = &rec->tables[MEHARI_TABLE_SUBPROCESS_ENV];
  const mehari_job *job = &rec->job;
  for (int i = 0; held->is_filled && i < held->table->count; i++) {
    const mehari_entry *entry = &held->table->entries[i];
    mehari_text name = {entry->name, entry->name_length}, value = {entry->value, entry->value_length};
    /* The same request at another place has the variables of the handlers, not of this place. */
    if (!question->is_same || !mehari_rec_had_variable(job, name, value))
      add_texts(aTHX_ pairs, prefix, name, value);
  }
  if (held->is_filled || question->is_same)
    return;
  for (int i = rec->is_early ? job->frame->set_env_count : 0; i < job->frame->variable_count; i++)
    add_texts(aTHX_ pairs, prefix, mehari_job_text(job, job->variables[i].name), mehari_job_text(job, job->variables[i].value));
}

SV *mehari_rec_handed_on(pTHX_ mehari_rec *rec, const mehari_question *question)
{
  SV *payload = newSVpvs_flags("", SVs_TEMP), *pairs = newSVpvs_flags("", SVs_TEMP);
  const mehari_held_table *held = &rec->tables[MEHARI_TABLE_HEADERS_IN];
  const mehari_job *job = &rec->job;
  for (int i = 0; held->is_filled && i < held->table->count; i++)
    add_pair(pairs, &held->table->entries[i]);
  /* The front knows the fields of the client's request. */
  bool is_own = rec->own_frame || rec->restated;
  for (int i = 0; !held->is_filled && is_own && i < job->frame->field_count; i++)
    add_texts(aTHX_ pairs, "", mehari_job_text(job, job->fields[i].name), mehari_job_text(job, job->fields[i].value));
  if (held->is_filled || is_own)
    mehari_part_add(payload, MEHARI_PASS_FIELDS, SvPVX(pairs), SvCUR(pairs));
  SvCUR_set(pairs, 0);
  add_variables(aTHX_ pairs, rec, question);
  /* The first value of a name counts. */
  for (mehari_rec *main = rec->main; main && question->is_own; main = main->main)
    add_variables(aTHX_ pairs, main, question);
  add_pairs(payload, MEHARI_PASS_VARIABLES, pairs);
  char origin = question->is_handled ? MEHARI_PASS_HANDLED : question->is_sub ? MEHARI_PASS_WITHIN : question->is_led ? MEHARI_PASS_REDIRECTED : 0;
  if (origin)
    mehari_part_add(payload, MEHARI_PASS_ORIGIN, &origin, 1);
  if (question->is_own || question->is_same)
    add_method(aTHX_ payload, rec);
  if (question->user.length && !memchr(question->user.at, 0, question->user.length))
    mehari_part_add(payload, MEHARI_PASS_USER, question->user.at, question->user.length);
  return payload;
}

static void report_changes(pTHX_ mehari_rec *rec)
{
  SV *changes = mehari_rec_changes(aTHX_ rec, false);
  if (mehari_rec_is_translated(rec))
    add_moved(aTHX_ changes, rec, MEHARI_PASS_MOVED);
  mehari_text text = mehari_text_of(aTHX_ changes);
  if (text.length && text.length <= MEHARI_RECORD_LIMIT)
    mehari_ring_put(MEHARI_RECORD_CHANGED, 0, &text, 1);
}

void mehari_rec_report_changes(pTHX_ mehari_rec *rec)
{
  if (!rec->main && (rec->restated || mehari_rec_is_translated(rec)))
    report_changes(aTHX_ rec);
}

/* Whether the code has set a variable that decides how the front codes the response. */
static bool chooses_coding(const mehari_rec *rec)
{
  static const char *const names[] = {"no-gzip", "no-brotli", "no-zstd", "no-compression", "gzip-only-text/html"};
  const mehari_held_table *held = &rec->tables[MEHARI_TABLE_SUBPROCESS_ENV];
  for (size_t i = 0; held->is_filled && i < C_ARRAY_LENGTH(names); i++)
    if (mehari_table_find(held->table, (mehari_text){names[i], strlen(names[i])}))
      return true;
  return false;
}

void mehari_rec_report_for_filters(pTHX_ mehari_rec *rec)
{
  bool is_shown = (rec->settings && mehari_settings_text(aTHX_ rec->settings, "includes")) || chooses_coding(rec);
  if (is_shown && !rec->main && mehari_rec_is_changed(aTHX_ rec))
    report_changes(aTHX_ rec);
}

#define TEXT_TYPE "text/html; charset=iso-8859-1"

/* Whether a handler of a later phase may read the outcome. */
static bool wants_outcome(mehari_rec *rec)
{
  bool cleans = false;
  for (; rec->prev; rec = rec->prev)
    cleans |= mehari_rec_cleans_up(rec);
  return cleans || mehari_rec_logs(rec) || mehari_rec_cleans_up(rec);
}

typedef struct {
  mehari_rec *rec;
  int status;
} filtered_file;

static void call_send(pTHX_ void *argument)
{
  filtered_file *this = argument;
  load_module(PERL_LOADMOD_NOIMPORT, newSVpvs("Mehari::FilteredFile"), NULL);
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  XPUSHs(mehari_rec_object(aTHX_ this->rec));
  PUTBACK;
  int count = call_pv("Mehari::FilteredFile::send", G_SCALAR | G_EVAL);
  SPAGAIN;
  if (count == 1 && !SvTRUE(ERRSV))
    this->status = SvIV(TOPs);
  else
    mehari_log_exception(aTHX_ "filtered file");
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
}

bool mehari_rec_send_file(pTHX_ mehari_rec *rec)
{
  /* Only the front knows the media type of a file that a handler has chosen, so the front sends
   * such a file. */
  if (!mehari_output_gathers || !(rec->job.frame->flags & MEHARI_FLAG_FILE) || rec->redirect || mehari_is_changed(rec, MEHARI_REC_FILENAME))
    return false;
  filtered_file this = {rec, 500};
  bool parses = mehari_parse_headers;
  mehari_parse_headers = false;
  mehari_guard(aTHX_ call_send, &this, NULL);
  if (this.status == DECLINED) {
    mehari_parse_headers = parses;
    return false;
  }
  /* Without a body there is nothing to filter. */
  if (this.status != OK)
    mehari_output_gathers = false;
  mehari_rec_end(aTHX_ rec, this.status);
  return true;
}

/* Refuses a record that would be too long. */
static void refuse_to_hand_back(pTHX_ mehari_rec *rec, int status)
{
  mehari_text uri = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI));
  mehari_logf(MEHARI_LOG_ERROR, "%.*s: the handlers' headers, text, type and path for status %d are larger than %u bytes together",
              uri.length > 200 ? 200 : (int)uri.length, uri.at, status ? status : 200, MEHARI_RECORD_LIMIT);
  rec->listens = false;
  rec->status = 500;
  mehari_output_error(500);
}

/* Lets the front respond with the page of a status. Status 0: the front chooses the response. */
void mehari_rec_hand_back(pTHX_ mehari_rec *rec, int status)
{
  SV *payload = newSVpvs_flags("", SVs_TEMP);
  /* A program or back end may get only the filtered body, and an input filter died. */
  if (!status && !rec->redirect && mehari_input_refused && !(rec->job.frame->flags & MEHARI_FLAG_FILE)) {
    mehari_output_error(500);
    return;
  }
  bool fetches = !status && !rec->redirect && mehari_rec_fetches(rec);
  mehari_head_clear(&mehari_response);
  /* A response that passes the worker's filters gets the handlers' fields later. */
  if (!fetches)
    mehari_rec_add_error_head(rec, status);
  if (mehari_response.length)
    mehari_part_add(payload, MEHARI_PASS_LINES, mehari_response.lines, mehari_response.length);
  if (status) {
    if (mehari_rec_is_translated(rec))
      add_moved(aTHX_ payload, rec, MEHARI_PASS_MOVED);
    SV *document = mehari_rec_document(aTHX_ rec, status);
    STRLEN length;
    const char *text = document ? SvPV(document, length) : NULL;
    if (text)
      mehari_part_add(payload, MEHARI_PASS_DOCUMENT, text, length);
    /* As in Apache, a text is an HTML page, and a path or URL names another resource. */
    if (text && mehari_is_document_text((mehari_text){text, length}))
      mehari_part_add(payload, MEHARI_PASS_TYPE, TEXT_TYPE, sizeof TEXT_TYPE - 1);
    if (status >= 400)
      add_error_variables(aTHX_ payload, rec);
  } else {
    if (rec->restated || mehari_rec_is_translated(rec) || mehari_rec_is_changed(aTHX_ rec))
      add_request(aTHX_ payload, rec);
    add_place(aTHX_ payload, rec);
    add_text(aTHX_ payload, MEHARI_PASS_TYPE, rec, MEHARI_REC_CONTENT_TYPE);
    if (!mehari_rec_is_proxied(aTHX_ rec) && !mehari_rec_runs_in_perl(aTHX_ rec, rec->job.frame->task))
      add_text(aTHX_ payload, MEHARI_PASS_HANDLER, rec, MEHARI_REC_HANDLER);
  }
  if (rec->redirect) {
    STRLEN length;
    const char *text = SvPV(rec->redirect, length);
    mehari_part_add(payload, MEHARI_PASS_TARGET, text, length);
  }
  mehari_rec_tell_log(aTHX);
  rec->listens = fetches || (!rec->redirect && wants_outcome(rec));
  if (rec->listens) {
    rec->answers = mehari_answer_count();
    mehari_part_add(payload, MEHARI_PASS_LISTENS, "", 0);
  }
  mehari_rec_report_user(aTHX_ mehari_rec_of_head());
  if (SvCUR(payload) > MEHARI_RECORD_LIMIT) {
    refuse_to_hand_back(aTHX_ rec, status);
    return;
  }
  if (fetches) {
    mehari_rec_fetch(aTHX_ rec, payload);
    return;
  }
  /* A resource that answers as an error page is sent with the error's status. */
  if (!status && rec->own_frame)
    status = mehari_rec_error(rec);
  mehari_output_pass(status, SvPVX(payload), SvCUR(payload));
}

/* ---- the outcome ---- */

mehari_text mehari_first_line(mehari_text *rest)
{
  const char *stop = memchr(rest->at, '\n', rest->length);
  STRLEN length = stop ? (STRLEN)(stop - rest->at) : rest->length;
  mehari_text line = {rest->at, length && rest->at[length - 1] == '\r' ? length - 1 : length};
  rest->at += length + !!stop;
  rest->length -= length + !!stop;
  return line;
}

void mehari_rec_hear_line(pTHX_ mehari_rec *rec, mehari_text line)
{
  const char *colon = memchr(line.at, ':', line.length);
  if (!colon)
    return;
  mehari_text name = {line.at, colon - line.at}, value = {colon + 1, line.length - name.length - 1};
  while (value.length && *value.at == ' ') {
    value.at++;
    value.length--;
  }
  mehari_table_add(mehari_rec_table(rec, MEHARI_TABLE_HEADERS_OUT), name, value);
  if (name.length == 12 && !strncasecmp(name.at, "content-type", 12))
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_CONTENT_TYPE, newSVpvn_flags(value.at, value.length, SVs_TEMP));
}

/* Stores the outcome: the request gets the status, byte count and head of the front's response. */
static void adopt(pTHX_ mehari_rec *rec, const mehari_response_outcome *outcome)
{
  mehari_text rest = outcome->head;
  rec->status = outcome->status;
  rec->has_outcome = true;
  rec->bytes_of_front = outcome->bytes;
  if (!rest.length)
    return;
  mehari_table_clear(mehari_rec_table(rec, MEHARI_TABLE_HEADERS_OUT));
  mehari_text line = mehari_first_line(&rest);
  if (line.length > 9 && memEQ(line.at, "HTTP/", 5))
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_STATUS_LINE, newSVpvn_flags(line.at + 9, line.length - 9, SVs_TEMP));
  else
    mehari_rec_hear_line(aTHX_ rec, line);
  while (rest.length)
    mehari_rec_hear_line(aTHX_ rec, mehari_first_line(&rest));
}

void mehari_rec_receive_outcome(pTHX_ mehari_rec *rec)
{
  mehari_response_outcome outcome;
  mehari_rec *last = rec;
  while (last->next)
    last = last->next;
  if (last->listens && mehari_receive_outcome(last->answers, &outcome))
    adopt(aTHX_ last, &outcome);
}
