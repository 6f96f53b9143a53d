/* Writes a request as handlers have changed it. %ENV, a PSGI application's environment, CGI
 * programs and back ends then see the fields that handlers have set, and do not see the fields that
 * handlers have removed.
 *
 * The phases call this file before the response. The result is a frame, because all later code
 * reads the request from its frame. */
#include "request/record.h"
#include "api/api.h"
#include "environment/names.h"
#include "environment/environment.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"

static bool is_text(mehari_text one, const char *at, STRLEN length) { return one.length == length && memEQ(one.at, at, length); }

/* Whether a table has the request's own values. A repeated field or variable is one entry in the
 * table, so it counts as changed. This is harmless. */
static bool is_as_it_came(const mehari_held_table *held, const mehari_job *job, const mehari_pair *pairs, int count)
{
  if (!held->is_filled)
    return true;
  if (held->table->count != count)
    return false;
  for (int i = 0; i < count; i++) {
    const mehari_entry *entry = &held->table->entries[i];
    if (!is_text(mehari_job_text(job, pairs[i].name), entry->name, entry->name_length) ||
        !is_text(mehari_job_text(job, pairs[i].value), entry->value, entry->value_length))
      return false;
  }
  return true;
}

bool mehari_rec_had_variable(const mehari_job *job, mehari_text name, mehari_text value)
{
  for (int i = 0; i < job->frame->variable_count; i++)
    if (is_text(mehari_job_text(job, job->variables[i].name), name.at, name.length))
      return is_text(mehari_job_text(job, job->variables[i].value), value.at, value.length);
  return false;
}

typedef struct {
  mehari_request *frame;
  uint32_t at;
} writer;

static mehari_span put(writer *into, const char *at, STRLEN length)
{
  mehari_span span = {into->at, length};
  memcpy((char *)into->frame + into->at, at, length);
  into->at += length;
  return span;
}

static void put_table(writer *into, mehari_pair *pairs, const mehari_table *table)
{
  for (int i = 0; i < table->count; i++) {
    const mehari_entry *entry = &table->entries[i];
    pairs[i] = (mehari_pair){put(into, entry->name, entry->name_length), put(into, entry->value, entry->value_length)};
  }
}

static size_t size_of(const mehari_table *table)
{
  size_t size = table->count * sizeof(mehari_pair);
  for (int i = 0; i < table->count; i++)
    size += table->entries[i].name_length + table->entries[i].value_length;
  return size;
}

/* Whether a handler has set a PATH_INFO that is the end of the path. SCRIPT_NAME is then the rest
 * of the path, as in Apache. */
static bool has_new_path_info(pTHX_ mehari_rec *rec)
{
  if (!mehari_is_changed(rec, MEHARI_REC_PATH_INFO))
    return false;
  mehari_text path = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI)), end = mehari_text_of(aTHX_ rec->texts[MEHARI_REC_PATH_INFO]);
  return end.length < path.length && memEQ(path.at + path.length - end.length, end.at, end.length);
}

/* Whether the text is the file that responds, and a handler has named another file. As in Apache,
 * the other file is then the script, and SCRIPT_FILENAME. */
static bool is_other_file(pTHX_ mehari_rec *rec, int which)
{
  U8 task = rec->job.frame->task;
  if (which != (task == MEHARI_TASK_HANDLER ? MEHARI_TEXT_FILE : MEHARI_TEXT_TASK) || !mehari_is_for_interpreter(rec->job.frame))
    return false;
  mehari_text file = mehari_text_of(aTHX_ rec->texts[MEHARI_REC_FILENAME]);
  return mehari_is_changed(rec, MEHARI_REC_FILENAME) && !is_text(mehari_job_text(&rec->job, rec->job.frame->text[which]), file.at, file.length);
}

static bool has_other_file(pTHX_ mehari_rec *rec) { return is_other_file(aTHX_ rec, MEHARI_TEXT_FILE) || is_other_file(aTHX_ rec, MEHARI_TEXT_TASK); }

/* Returns the text that a handler has set, otherwise the request's text. */
static mehari_text text_of(pTHX_ mehari_rec *rec, int which)
{
  if (is_other_file(aTHX_ rec, which))
    return mehari_text_of(aTHX_ rec->texts[MEHARI_REC_FILENAME]);
  static const struct { int text, set; } known[] = {{MEHARI_TEXT_METHOD, MEHARI_REC_METHOD}, {MEHARI_TEXT_QUERY, MEHARI_REC_ARGS}};
  for (size_t i = 0; i < C_ARRAY_LENGTH(known); i++)
    if (which == known[i].text && mehari_is_changed(rec, known[i].set))
      return mehari_text_of(aTHX_ rec->texts[known[i].set]);
  if ((which == MEHARI_TEXT_PATH_INFO || which == MEHARI_TEXT_SCRIPT_NAME) && has_new_path_info(aTHX_ rec)) {
    mehari_text path = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI)), end = mehari_text_of(aTHX_ rec->texts[MEHARI_REC_PATH_INFO]);
    return which == MEHARI_TEXT_PATH_INFO ? end : (mehari_text){path.at, path.length - end.length};
  }
  return mehari_job_text(&rec->job, rec->job.frame->text[which]);
}

/* Returns the user, and the variables that handlers have stored in %ENV. A script in this process
 * reads these values from the record. Another process reads them from its frame. */
static const mehari_table *further_variables(pTHX_ mehari_rec *rec)
{
  static const struct { int text; const char *name; } known[] = {{MEHARI_REC_USER, "REMOTE_USER"}, {MEHARI_REC_AUTH_TYPE, "AUTH_TYPE"}};
  static mehari_table *further;
  if (!further)
    further = mehari_table_new();
  mehari_table_clear(further);
  if (!mehari_task_is_program(rec->job.frame->task))
    return further;
  const mehari_table *early = mehari_environment_early();
  for (int i = 0; early && i < early->count; i++) {
    const mehari_entry *entry = &early->entries[i];
    mehari_table_add(further, (mehari_text){entry->name, entry->name_length}, (mehari_text){entry->value, entry->value_length});
  }
  for (size_t i = 0; i < C_ARRAY_LENGTH(known); i++) {
    SV *value = mehari_is_changed(rec, known[i].text) ? rec->texts[known[i].text] : NULL;
    if (value)
      mehari_table_set(further, (mehari_text){known[i].name, strlen(known[i].name)}, mehari_text_of(aTHX_ value));
  }
  return further;
}

mehari_text mehari_rec_numbered_method(pTHX_ mehari_rec *rec)
{
  const mehari_job *came = rec->restated ? &rec->came : &rec->job;
  SV **number = rec->slots ? hv_fetchs(rec->slots, "method_number", 0) : NULL;
  const char *name = number && SvOK(*number) ? mehari_method_name(SvIV(*number)) : NULL;
  return name ? (mehari_text){name, strlen(name)} : mehari_job_text(came, came->frame->text[MEHARI_TEXT_METHOD]);
}

static bool has_number(pTHX_ mehari_rec *rec)
{
  mehari_text method = mehari_rec_numbered_method(aTHX_ rec), sent = mehari_job_text(&rec->job, rec->job.frame->text[MEHARI_TEXT_METHOD]);
  return !is_text(method, sent.at, sent.length);
}

bool mehari_rec_is_changed(pTHX_ mehari_rec *rec)
{
  const mehari_job *job = &rec->job;
  return further_variables(aTHX_ rec)->count || mehari_is_changed(rec, MEHARI_REC_ARGS) || mehari_is_changed(rec, MEHARI_REC_METHOD) || has_number(aTHX_ rec) ||
         has_new_path_info(aTHX_ rec) || has_other_file(aTHX_ rec) ||
         !is_as_it_came(&rec->tables[MEHARI_TABLE_HEADERS_IN], job, job->fields, job->frame->field_count) ||
         !is_as_it_came(&rec->tables[MEHARI_TABLE_SUBPROCESS_ENV], job, job->variables, job->frame->variable_count);
}

static mehari_request *restated(pTHX_ mehari_rec *rec)
{
  const mehari_table *fields = mehari_rec_table(rec, MEHARI_TABLE_HEADERS_IN), *variables = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  const mehari_table *further = further_variables(aTHX_ rec);
  if (fields->count > UINT16_MAX || variables->count + further->count > UINT16_MAX)
    return NULL;
  size_t head = sizeof(mehari_request), texts = 0;
  for (int i = 0; i < MEHARI_TEXT_COUNT; i++)
    texts += text_of(aTHX_ rec, i).length;
  char *room;
  Newx(room, head + texts + size_of(further) + size_of(fields) + size_of(variables), char);
  head += (size_t)(fields->count + further->count + variables->count) * sizeof(mehari_pair);
  writer into = {(mehari_request *)room, head};
  *into.frame = *rec->job.frame;
  into.frame->field_count = fields->count;
  into.frame->variable_count = further->count + variables->count;
  into.frame->set_env_count = into.frame->perl_set_env_count = 0;
  into.frame->body = (mehari_span){0, 0};
  for (int i = 0; i < MEHARI_TEXT_COUNT; i++) {
    mehari_text text = text_of(aTHX_ rec, i);
    into.frame->text[i] = put(&into, text.at, text.length);
  }
  mehari_pair *pairs = (mehari_pair *)(into.frame + 1);
  put_table(&into, pairs, fields);
  put_table(&into, pairs + fields->count, further);
  put_table(&into, pairs + fields->count + further->count, variables);
  into.frame->length = into.at;
  return into.frame;
}

/* Removes from `subprocess_env` the variables of fields that came with the request, because no
 * handler has set them. */
static void forget_echoes(mehari_rec *rec)
{
  const mehari_job *job = &rec->job;
  mehari_table *table = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  char name[512];
  for (int i = 0; i < job->frame->field_count; i++) {
    mehari_text variable = {name, mehari_variable_name(name, sizeof name, mehari_job_text(job, job->fields[i].name))};
    mehari_text value = mehari_job_text(job, job->fields[i].value);
    const mehari_entry *entry = variable.length ? mehari_table_find(table, variable) : NULL;
    if (entry && is_text(value, entry->value, entry->value_length))
      mehari_table_unset(table, variable);
  }
}

void mehari_rec_restate(pTHX_ mehari_rec *rec)
{
  if (rec->tables[MEHARI_TABLE_SUBPROCESS_ENV].is_filled &&
      !is_as_it_came(&rec->tables[MEHARI_TABLE_HEADERS_IN], &rec->job, rec->job.fields, rec->job.frame->field_count))
    forget_echoes(rec);
  mehari_request *frame = mehari_rec_is_changed(aTHX_ rec) ? restated(aTHX_ rec) : NULL;
  if (!frame)
    return;
  if (!rec->restated)
    rec->came = rec->job;
  mehari_job_read(&rec->job, frame);
  if (rec == mehari_rec_now)
    mehari_job_read(&mehari_now, frame);
  /* Until this point the earlier frame may be read. */
  Safefree(rec->restated);
  rec->restated = frame;
}

void mehari_rec_forget_restated(mehari_rec *rec)
{
  if (!rec->restated)
    return;
  if (mehari_now.frame == rec->restated)
    mehari_job_read(&mehari_now, rec->came.frame);
  rec->job = rec->came;
  Safefree(rec->restated);
  rec->restated = NULL;
}
