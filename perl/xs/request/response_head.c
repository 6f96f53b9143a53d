/* Makes the head of the response from the tables and texts of the responding record. */
#include "request/record.h"
#include "api/api.h"
#include "phases/phases.h"
#include "response/head.h"
#include "response/response.h"

/* Adds the fields with the name `only`, or all fields. */
static void add_pairs(const mehari_table *table, const char *only)
{
  for (int i = 0; table && i < table->count; i++) {
    const mehari_entry *entry = &table->entries[i];
    if (!only || !strcasecmp(only, entry->name))
      mehari_head_add(&mehari_response, entry->name, entry->name_length, entry->value, entry->value_length);
  }
}

static void add_text_line(pTHX_ mehari_rec *rec, int which, const char *name)
{
  STRLEN length;
  SV *value = mehari_rec_text(aTHX_ rec, which);
  const char *text = value ? SvPV(value, length) : NULL;
  if (text)
    mehari_head_add(&mehari_response, name, strlen(name), text, length);
}

/* Adds the text. It replaces the header field of the same name, as in Apache. An empty text leaves
 * the field alone. */
static void add_own_line(pTHX_ mehari_rec *rec, int which, const char *name)
{
  if (!mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, which)).length)
    return;
  if (mehari_response.length)
    mehari_head_replace(&mehari_response, name, strlen(name));
  add_text_line(aTHX_ rec, which, name);
}

/* Takes the next language from a list with commas. */
static mehari_text next_language(mehari_text *list)
{
  const char *comma = memchr(list->at, ',', list->length);
  mehari_text language = {list->at, comma ? (STRLEN)(comma - list->at) : list->length};
  list->at += language.length + !!comma;
  list->length -= language.length + !!comma;
  while (language.length && *language.at == ' ') {
    language.at++;
    language.length--;
  }
  return language;
}

/* Adds the languages of `more` that the list does not have, in lower case. */
static void merge_languages(pTHX_ SV *list, mehari_text more)
{
  while (more.length) {
    mehari_text language = next_language(&more), known = {SvPVX(list), SvCUR(list)};
    bool is_known = !language.length;
    while (known.length && !is_known) {
      mehari_text one = next_language(&known);
      is_known = one.length == language.length && !strncasecmp(one.at, language.at, one.length);
    }
    if (!is_known) {
      STRLEN end = SvCUR(list);
      sv_catpvf(list, ",%.*s", (int)language.length, language.at);
      for (char *at = SvPVX(list) + end; *at; at++)
        *at = toLOWER_A(*at);
    }
  }
}

/* Adds content_languages. As in Apache, the languages of the header field follow them. */
static void add_languages(pTHX_ mehari_rec *rec)
{
  static const char field[] = "Content-Language: ";
  const STRLEN name_length = sizeof field - 3;
  mehari_text own = mehari_rec_languages(aTHX_ rec), lines = {mehari_response.lines, mehari_response.length};
  if (!own.length)
    return;
  SV *list = newSVpvn_flags(own.at, own.length, SVs_TEMP);
  while (lines.length) {
    mehari_text line = mehari_first_line(&lines);
    if (line.length >= sizeof field - 1 && !strncasecmp(line.at, field, sizeof field - 1))
      merge_languages(aTHX_ list, (mehari_text){line.at + sizeof field - 1, line.length - sizeof field + 1});
  }
  if (mehari_response.length)
    mehari_head_replace(&mehari_response, field, name_length);
  mehari_head_add(&mehari_response, field, name_length, SvPVX(list), SvCUR(list));
}

/* Adds both tables. As in Apache, err_headers_out comes first. All lines behind err_headers_out are
 * those of headers_out. */
static void add_tables(mehari_rec *rec)
{
  const mehari_table *out = rec->tables[MEHARI_TABLE_HEADERS_OUT].table;
  const mehari_table *err = rec->tables[MEHARI_TABLE_ERR_HEADERS_OUT].table;
  bool has_err = err && err->count;
  if (!has_err && !(out && out->count))
    return;
  if (has_err) {
    mehari_head_mark(&mehari_response, MEHARI_HEAD_ERR);
    add_pairs(err, NULL);
  }
  mehari_head_mark(&mehari_response, MEHARI_HEAD_OUT);
  add_pairs(out, NULL);
}

/* Adds the words of `$r->status_line`. */
static void add_reason(pTHX_ mehari_rec *rec)
{
  STRLEN length;
  SV *line = mehari_is_changed(rec, MEHARI_REC_STATUS_LINE) ? rec->texts[MEHARI_REC_STATUS_LINE] : NULL;
  const char *text = line && SvOK(line) ? SvPV(line, length) : NULL;
  if (text)
    mehari_head_add_reason(&mehari_response, text, length);
}

/* Whether a handler has set the field Location. */
static bool has_location(const mehari_rec *rec)
{
  static const mehari_text location = {"Location", 8};
  const mehari_table *out = rec->tables[MEHARI_TABLE_HEADERS_OUT].table, *err = rec->tables[MEHARI_TABLE_ERR_HEADERS_OUT].table;
  return (out && mehari_table_find(out, location)) || (err && mehari_table_find(err, location));
}

void mehari_request_fill_head(pTHX)
{
  mehari_rec *rec = mehari_rec_of_head();
  mehari_rec_report_user(aTHX_ rec);
  mehari_rec_report_for_filters(aTHX_ rec);
  /* Location redirects only where a script prints it. A handler sets the status of a redirect. */
  mehari_response.status = rec->status ? rec->status : has_location(rec) ? 200 : 0;
  add_tables(rec);
  add_own_line(aTHX_ rec, MEHARI_REC_CONTENT_TYPE, "Content-Type");
  add_own_line(aTHX_ rec, MEHARI_REC_CONTENT_ENCODING, "Content-Encoding");
  add_languages(aTHX_ rec);
  add_reason(aTHX_ rec);
}

/* Whether the script has printed a field. */
static bool has_printed(const char *name)
{
  STRLEN length = strlen(name);
  mehari_text lines = {mehari_response.lines, mehari_response.length};
  while (lines.length) {
    mehari_text line = mehari_first_line(&lines);
    if (line.length > length && line.at[length] == ':' && !strncasecmp(line.at, name, length))
      return true;
  }
  return false;
}

void mehari_request_complete_head(pTHX)
{
  mehari_rec *rec = mehari_rec_of_head();
  /* A template's child has no record. As in Apache, the page of a redirect has no properties of the
   * script's file. */
  bool has_content = mehari_rec_now && (mehari_response.status || !has_printed("Location"));
  bool needs_type = has_content && (rec->is_type_of_filter || !has_printed("Content-Type"));
  mehari_rec_report_user(aTHX_ rec);
  mehari_rec_report_for_filters(aTHX_ rec);
  if (!mehari_response.status)
    mehari_response.status = rec->status;
  add_tables(rec);
  if (has_content) {
    if (needs_type) {
      mehari_head_replace(&mehari_response, "Content-Type", 12);
      add_text_line(aTHX_ rec, MEHARI_REC_CONTENT_TYPE, "Content-Type");
    }
    add_own_line(aTHX_ rec, MEHARI_REC_CONTENT_ENCODING, "Content-Encoding");
    add_languages(aTHX_ rec);
  }
  add_reason(aTHX_ rec);
}

/* Adds the header lines for a page that the front makes. The page has its own type and length. Of
 * the handlers' fields, the page gets err_headers_out and the Location of a redirect. */
void mehari_rec_add_error_head(mehari_rec *rec, int status)
{
  dTHX;
  if (!status) {
    add_tables(rec);
    if (rec->slots && hv_exists(rec->slots, "content_languages", 17))
      add_languages(aTHX_ rec);
    /* As in Apache, an error keeps the Expires of `$r->no_cache`. */
    if (rec->numbers[MEHARI_NUMBER_NO_CACHE]) {
      mehari_head_replace(&mehari_response, "Expires", 7);
      mehari_head_mark(&mehari_response, MEHARI_HEAD_ERR);
      add_pairs(rec->tables[MEHARI_TABLE_HEADERS_OUT].table, "Expires");
    }
    return;
  }
  add_reason(aTHX_ rec);
  if (status >= 300 && status < 400)
    add_pairs(rec->tables[MEHARI_TABLE_HEADERS_OUT].table, "Location");
  if (rec->numbers[MEHARI_NUMBER_NO_CACHE])
    add_pairs(rec->tables[MEHARI_TABLE_HEADERS_OUT].table, "Expires");
  add_pairs(rec->tables[MEHARI_TABLE_ERR_HEADERS_OUT].table, NULL);
}

SV *mehari_rec_document(pTHX_ mehari_rec *rec, int status)
{
  char digits[12];
  STRLEN length = MEHARI_FORMAT(digits, "%d", status);
  HV *const places[] = {rec->documents, rec->settings ? rec->settings->documents : NULL};
  for (size_t i = 0; i < C_ARRAY_LENGTH(places); i++) {
    SV **found = places[i] ? hv_fetch(places[i], digits, length, 0) : NULL;
    if (found && SvOK(*found))
      return *found;
  }
  return NULL;
}

bool mehari_is_document_text(mehari_text document)
{
  return document.length && *document.at != '/' && !memmem(document.at, document.length, "://", 3);
}
