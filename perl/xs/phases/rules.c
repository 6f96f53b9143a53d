/* Asks the front for the rules that read the request after handlers. They are the rules that choose
 * the place (the server's `SetEnvIf` and `RewriteRule`, and `<If>`) and those of the place:
 * `SetEnvIf`, the access rules, `Require` after authentication, and those of the fixup phase
 * (`Redirect`, a folder's `RewriteRule`, `RequestHeader`). As in Apache, the rules see the request
 * as the handlers have changed it. */
#include "phases/phases.h"
#include "phases/settings.h"
#include "api/api.h"
#include "mailbox/mailbox.h"
#include "request/record.h"

/* Returns the fields of a frame as a table, with repeated fields merged as in `headers_in`. */
static mehari_table *fields_of(const mehari_job *answer)
{
  mehari_table *fields = mehari_table_new();
  for (int i = 0; i < answer->frame->field_count; i++) {
    mehari_text name = mehari_job_text(answer, answer->fields[i].name), value = mehari_job_text(answer, answer->fields[i].value);
    mehari_table_merge(fields, name, value, name.length == 6 && !strncasecmp(name.at, "Cookie", 6) ? "; " : ", ");
  }
  return fields;
}

static bool has_value(const mehari_table *table, mehari_text name, mehari_text value)
{
  const mehari_entry *known = mehari_table_find(table, name);
  return known && known->value_length == value.length && memEQ(known->value, value.at, value.length);
}

/* Changes the fields of the request as `RequestHeader` has changed them. The front does not see a
 * field with `_` in its name, so such a field stays. */
static void take_fields(mehari_rec *rec, const mehari_job *answer)
{
  if (!answer->frame->field_count)
    return;
  mehari_table *after = fields_of(answer), *before = mehari_rec_table(rec, MEHARI_TABLE_HEADERS_IN);
  for (int i = before->count - 1; i >= 0; i--) {
    mehari_text name = {before->entries[i].name, before->entries[i].name_length};
    if (!memchr(name.at, '_', name.length) && !mehari_table_find(after, name)) {
      mehari_table_unset(before, name);
      i = before->count; /* the table may have moved its entries */
    }
  }
  for (int i = 0; i < after->count; i++) {
    mehari_text name = {after->entries[i].name, after->entries[i].name_length}, value = {after->entries[i].value, after->entries[i].value_length};
    if (!has_value(before, name, value))
      mehari_table_set(before, name, value);
  }
  mehari_table_release(after);
}

static bool has_variable(const mehari_job *job, mehari_text name)
{
  for (int i = job->frame->set_env_count; i < job->frame->variable_count; i++) {
    mehari_text known = mehari_job_text(job, job->variables[i].name);
    if (known.length == name.length && memEQ(known.at, name.at, name.length))
      return true;
  }
  return false;
}

/* Sets and removes the variables that the rules have set and removed. `again`: the rules have set
 * their variables once before, and handlers may have removed these variables since. */
static void take_variables(mehari_rec *rec, const mehari_job *answer, bool again)
{
  mehari_table *variables = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  for (int i = answer->frame->set_env_count; i < answer->frame->variable_count; i++) {
    mehari_text name = mehari_job_text(answer, answer->variables[i].name), value = mehari_job_text(answer, answer->variables[i].value);
    if ((again || !mehari_rec_had_variable(&rec->job, name, value)) && !has_value(variables, name, value))
      mehari_table_set(variables, name, value);
  }
  for (int i = rec->job.frame->set_env_count; i < rec->job.frame->variable_count; i++) {
    mehari_text name = mehari_job_text(&rec->job, rec->job.variables[i].name);
    if (!has_variable(answer, name))
      mehari_table_unset(variables, name);
  }
}

static void take_query(pTHX_ mehari_rec *rec, const mehari_job *answer)
{
  mehari_text query = mehari_job_text(answer, answer->frame->text[MEHARI_TEXT_QUERY]);
  mehari_text known = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_ARGS));
  if (query.length != known.length || memNE(query.at, known.at, known.length))
    mehari_rec_set_text(aTHX_ rec, MEHARI_REC_ARGS, newSVpvn_flags(query.at, query.length, SVs_TEMP));
}

/* Takes what the rules have changed. */
static void take_changes(pTHX_ mehari_rec *rec, const mehari_job *answer)
{
  take_fields(rec, answer);
  take_variables(rec, answer, false);
  take_query(aTHX_ rec, answer);
  if (answer->frame->task != rec->job.frame->task)
    mehari_rec_adopt(aTHX_ rec, mehari_merged(&rec->job, answer, true, true));
}

void mehari_table_take_lines(mehari_table *table, mehari_text lines)
{
  while (lines.length) {
    mehari_text line = mehari_first_line(&lines);
    const char *colon = memchr(line.at, ':', line.length);
    if (!colon)
      continue;
    mehari_text name = {line.at, colon - line.at}, value = {colon + 1, line.length - name.length - 1};
    while (value.length && *value.at == ' ') {
      value.at++;
      value.length--;
    }
    mehari_table_set(table, name, value);
  }
}

void mehari_rec_take_lines(mehari_rec *rec, mehari_text lines) { mehari_table_take_lines(mehari_rec_table(rec, MEHARI_TABLE_HEADERS_OUT), lines); }

/* Whether the request is made within the client's request. */
static bool is_within(const mehari_rec *rec) { return rec->main || rec->prev; }

/* Whether the place has rules that read the request after handlers. A sub-request has none, nor has
 * a request to which handlers have redirected. */
static bool has_rules(pTHX_ mehari_rec *rec, const char *which)
{
  return !is_within(rec) && mehari_settings_text(aTHX_ rec->settings, which);
}

/* Whether an expression of `Require` names the user. */
static bool reads_user(pTHX_ mehari_rec *rec)
{
  mehari_text when = mehari_text_of(aTHX_ mehari_settings_text(aTHX_ rec->settings, "authorization"));
  return when.length == 10 && memEQ(when.at, "reads user", 10);
}

/* Asks for the rules. `target`: the path that handlers have chosen, or NULL. Returns false if the
 * rules change nothing. */
static bool ask_about(pTHX_ mehari_rec *rec, uint16_t which, SV *target, mehari_job *answer)
{
  /* Before authentication the rules see only a user whom handlers have set. */
  if (which == MEHARI_LEFT_FIXUPS)
    mehari_rec_report_user(aTHX_ rec);
  else if (mehari_rec_has_user(aTHX_ rec))
    mehari_rec_tell_user(aTHX_ rec);
  SV *changes = mehari_rec_changes(aTHX_ rec, true);
  mehari_text path = mehari_text_of(aTHX_ target);
  if (path.length)
    mehari_part_add(changes, MEHARI_PASS_TARGET, path.at, path.length);
  const mehari_request *frame = mehari_ask_rules(which, mehari_text_of(aTHX_ changes));
  if (!frame)
    return false;
  *answer = (mehari_job){.frame = frame, .base = (const char *)frame, .fields = (const mehari_pair *)(frame + 1)};
  answer->variables = answer->fields + frame->field_count;
  return true;
}

static bool ask(pTHX_ mehari_rec *rec, uint16_t which, mehari_job *answer) { return ask_about(aTHX_ rec, which, NULL, answer); }

/* Refuses changes that are longer than a record. */
static bool is_too_large(pTHX_ mehari_rec *rec)
{
  mehari_text changes = mehari_text_of(aTHX_ mehari_rec_changes(aTHX_ rec, true));
  if (changes.length <= MEHARI_RECORD_LIMIT)
    return false;
  mehari_logf(MEHARI_LOG_ERROR, "the handlers' changes of the request are larger than %u bytes together", MEHARI_RECORD_LIMIT);
  return true;
}

bool mehari_rec_ask_rules(pTHX_ mehari_rec *rec, uint16_t which, mehari_job *answer) { return !is_too_large(aTHX_ rec) && ask(aTHX_ rec, which, answer); }

int mehari_rec_set_variables(pTHX_ mehari_rec *rec)
{
  mehari_job answer;
  if (!has_rules(aTHX_ rec, "variables") || !mehari_rec_is_changed(aTHX_ rec))
    return OK;
  if (is_too_large(aTHX_ rec))
    return 500;
  if (ask(aTHX_ rec, MEHARI_LEFT_VARIABLES, &answer))
    take_variables(rec, &answer, true);
  return OK;
}

/* Evaluates the access rules again for a sub-request or a redirected request. The front keeps only
 * the place of the client's request, so it finds the place anew. Another place means that handlers
 * have chosen a file that the front cannot find, so the request is refused. */
static int check_within(pTHX_ mehari_rec *rec, SV *user, mehari_job *rules)
{
  mehari_text target = mehari_text_of(aTHX_ mehari_rec_target(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI), mehari_rec_text(aTHX_ rec, MEHARI_REC_ARGS)));
  mehari_text method = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_METHOD));
  mehari_request *frame = mehari_lookup(rec, &(mehari_question){.method = method, .target = target, .is_own = true, .user = mehari_text_of(aTHX_ user)});
  if (!frame || frame->settings_id != rec->job.frame->settings_id) {
    mehari_logf(MEHARI_LOG_ERROR, "%.*s: the access rules cannot be evaluated again for the changed request, so it is refused", (int)target.length, target.at);
    Safefree(frame);
    return 403;
  }
  Safefree((mehari_request *)rules->frame);
  mehari_job_read(rules, frame);
  return OK;
}

int mehari_rec_check_again(pTHX_ mehari_rec *rec)
{
  mehari_job answer;
  bool sees_user = reads_user(aTHX_ rec) && mehari_rec_has_user(aTHX_ rec);
  if (rec->is_merged || !mehari_settings_text(aTHX_ rec->settings, "access") || (!sees_user && !mehari_rec_is_changed(aTHX_ rec)))
    return OK;
  if (is_within(rec))
    return check_within(aTHX_ rec, mehari_rec_has_user(aTHX_ rec) ? rec->texts[MEHARI_REC_USER] : NULL, &rec->merged);
  if (is_too_large(aTHX_ rec))
    return 500;
  /* Without an answer the rules are not known to admit the request. */
  if (!ask(aTHX_ rec, MEHARI_LEFT_ACCESS, &answer))
    return 500;
  Safefree((mehari_request *)rec->merged.frame);
  char *copy;
  Newx(copy, answer.frame->length, char);
  mehari_bytes(copy, (const char *)answer.frame, answer.frame->length);
  mehari_job_read(&rec->merged, (mehari_request *)copy);
  return OK;
}

int mehari_rec_authorize_again(pTHX_ mehari_rec *rec, uint64_t *known)
{
  mehari_job answer;
  /* The front is not asked once the response may have begun. */
  if (!rec->is_early || rec->is_merged || !mehari_settings_text(aTHX_ rec->settings, "authorization"))
    return OK;
  if (!reads_user(aTHX_ rec) && !mehari_rec_is_changed(aTHX_ rec))
    return OK;
  if (is_within(rec)) {
    mehari_job rules = {.frame = NULL};
    int status = check_within(aTHX_ rec, mehari_rec_text(aTHX_ rec, MEHARI_REC_USER), &rules);
    *known = rules.frame ? rules.frame->known : 0;
    Safefree((mehari_request *)rules.frame);
    return status;
  }
  if (is_too_large(aTHX_ rec))
    return 500;
  mehari_rec_report_user(aTHX_ rec);
  if (!mehari_rec_is_user_known(aTHX_ rec)) {
    mehari_logf(MEHARI_LOG_ERROR, "the rules of `Require` cannot read the user: expected a name of 1 to 4096 bytes without a NUL");
    return 500;
  }
  if (!ask(aTHX_ rec, MEHARI_LEFT_AUTHORIZATION, &answer))
    return 500;
  *known = answer.frame->known;
  return answer.frame->access_status == MEHARI_FIXUPS_GO_ON ? OK : answer.frame->access_status;
}

/* Applies the rules of the fixup phase to a sub-request. If they lead to another path, the front
 * says so when the sub-request runs. */
static int fix_up_within(pTHX_ mehari_rec *sub)
{
  mehari_text file = mehari_text_of(aTHX_ sub->chosen_file);
  mehari_question question = {
    .method = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ sub, MEHARI_REC_METHOD)),
    .target = mehari_text_of(aTHX_ mehari_rec_found_at(aTHX_ sub)),
    .file = file.length ? &file : NULL,
    .is_sub = true,
    .is_handled = true,
    .user = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ sub, MEHARI_REC_USER)),
  };
  mehari_request *frame = mehari_lookup(sub, &question);
  mehari_job answer = {.frame = NULL};
  if (!frame)
    return 500;
  mehari_job_read(&answer, frame);
  int status = frame->access_status;
  if (status) {
    if (status >= 300 && status < 400)
      mehari_rec_take_lines(sub, mehari_job_text(&answer, frame->text[MEHARI_TEXT_CHALLENGE]));
  } else {
    take_variables(sub, &answer, false);
    take_query(aTHX_ sub, &answer);
    if (frame->task != sub->job.frame->task || frame->sends_file != sub->job.frame->sends_file) {
      mehari_rec_adopt(aTHX_ sub, frame);
      return DECLINED;
    }
    status = DECLINED;
  }
  Safefree(frame);
  return status;
}

int mehari_rec_fix_up(pTHX_ mehari_rec *rec)
{
  mehari_job answer;
  if (rec->main)
    return mehari_settings_text(aTHX_ rec->settings, "fixups") ? fix_up_within(aTHX_ rec) : DECLINED;
  if (!has_rules(aTHX_ rec, "fixups"))
    return DECLINED;
  if (is_too_large(aTHX_ rec))
    return 500;
  if (!ask(aTHX_ rec, MEHARI_LEFT_FIXUPS, &answer))
    return DECLINED;
  mehari_text target = mehari_job_text(&answer, answer.frame->text[MEHARI_TEXT_TARGET]);
  int status = answer.frame->access_status;
  switch (status) {
  case MEHARI_FIXUPS_GO_ON:
    take_changes(aTHX_ rec, &answer);
    return DECLINED;
  case MEHARI_FIXUPS_HAND_BACK:
    mehari_rec_hand_back(aTHX_ rec, 0);
    return DONE;
  case MEHARI_FIXUPS_ELSEWHERE:
    /* The next request gets the fields as the handlers and the rules have left them. */
    take_fields(rec, &answer);
    mehari_rec_restate(aTHX_ rec);
    mehari_rec_redirect(aTHX_ rec, target);
    return DONE;
  default:
    mehari_rec_take_lines(rec, mehari_job_text(&answer, answer.frame->text[MEHARI_TEXT_CHALLENGE]));
    return status;
  }
}

/* ---- the rules that choose the place ---- */

bool mehari_rec_has_place_rules(pTHX_ mehari_rec *rec, int phase)
{
  static const char *const last[] = {"variables", "translation", "sections"};
  SV *word = is_within(rec) ? NULL : mehari_settings_text(aTHX_ rec->settings, "place");
  for (int i = phase; word && i < (int)C_ARRAY_LENGTH(last); i++)
    if (strEQ(SvPV_nolen(word), last[i]))
      return true;
  return false;
}

/* Continues at the place that the rules have found. What handlers have set stays, except for the
 * path about which the rules were asked. */
static void take_place(pTHX_ mehari_rec *rec, const mehari_job *answer, bool has_chosen)
{
  static const int kept[] = {MEHARI_REC_FILENAME, MEHARI_REC_PATH_INFO, MEHARI_REC_HANDLER, MEHARI_REC_URI};
  SV *set[C_ARRAY_LENGTH(kept)];
  for (size_t i = 0; i < C_ARRAY_LENGTH(kept); i++) {
    bool stays = mehari_is_changed(rec, kept[i]) && !(has_chosen && kept[i] == MEHARI_REC_URI);
    set[i] = stays && rec->texts[kept[i]] ? sv_mortalcopy(rec->texts[kept[i]]) : NULL;
  }
  take_variables(rec, answer, true);
  take_query(aTHX_ rec, answer);
  mehari_rec_adopt(aTHX_ rec, mehari_merged(&rec->job, answer, true, true));
  rec->is_at_place = true;
  for (size_t i = 0; i < C_ARRAY_LENGTH(kept); i++)
    if (set[i])
      mehari_rec_set_text(aTHX_ rec, kept[i], set[i]);
}

int mehari_rec_find_place(pTHX_ mehari_rec *rec, int phase, int answered)
{
  static const uint16_t rules[] = {MEHARI_LEFT_READ, MEHARI_LEFT_TRANSLATION, MEHARI_LEFT_STORAGE};
  mehari_job answer;
  /* As in Apache, no rule translates the path after a handler that has done so. */
  bool is_translated = phase == MEHARI_PHASE_TRANS && answered == OK;
  int first = phase + is_translated;
  if (first >= (int)C_ARRAY_LENGTH(rules) || !mehari_rec_has_place_rules(aTHX_ rec, first))
    return OK;
  bool has_chosen = first == MEHARI_PHASE_TRANS && mehari_is_changed(rec, MEHARI_REC_URI);
  bool is_changed = mehari_rec_handlers(rec, phase) && (mehari_rec_is_changed(aTHX_ rec) || mehari_rec_has_user(aTHX_ rec));
  bool is_found = phase == MEHARI_PHASE_TRANS && rec->own_frame && !rec->is_at_place;
  if (is_found || (!has_chosen && !is_changed))
    return OK;
  if (is_too_large(aTHX_ rec))
    return 500;
  SV *target = has_chosen ? mehari_rec_target(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI), mehari_rec_text(aTHX_ rec, MEHARI_REC_ARGS)) : NULL;
  if (!ask_about(aTHX_ rec, rules[first], target, &answer))
    return 500;
  if (answer.frame->access_status != MEHARI_FIXUPS_GO_ON) {
    mehari_rec_take_lines(rec, mehari_job_text(&answer, answer.frame->text[MEHARI_TEXT_CHALLENGE]));
    return answer.frame->access_status;
  }
  take_place(aTHX_ rec, &answer, has_chosen);
  return OK;
}
