/* Parses multipart/form-data (RFC 7578): parts between delimiter lines, each part with its own
 * header. The body is in memory or mapped, so an upload is a range of the body and is not
 * copied. */
#include "api/form.h"
#include "request/record.h"

/* The largest length of the header lines of one part, in bytes. */
#define PART_HEAD_LIMIT 16384
#define LONGEST_BOUNDARY 70 /* RFC 2046 5.1.1 */

void mehari_uploads_free(mehari_uploads *uploads)
{
  for (int i = 0; i < uploads->count; i++) {
    Safefree(uploads->at[i].name);
    Safefree(uploads->at[i].file_name);
    mehari_table_release(uploads->at[i].info);
  }
  Safefree(uploads->at);
  *uploads = (mehari_uploads){NULL, 0, 0};
}

/* Reads the next `; key=value` from `at` on. A quoted value may contain any character, and `\"` in
 * it is a quote. */
static const char *read_attribute(const char *at, const char *end, mehari_text *key, mehari_text *value)
{
  at = memchr(at, ';', end - at);
  if (!at)
    return NULL;
  for (at++; at < end && (*at == ' ' || *at == '\t'); at++)
    ;
  key->at = at;
  while (at < end && *at != '=' && *at != ';')
    at++;
  key->length = at - key->at;
  while (key->length && isSPACE(key->at[key->length - 1]))
    key->length--;
  *value = (mehari_text){at, 0};
  if (at == end || *at == ';')
    return at;
  for (at++; at < end && (*at == ' ' || *at == '\t'); at++)
    ;
  if (at < end && *at == '"') {
    value->at = ++at;
    while (at < end && *at != '"')
      at += *at == '\\' && at + 1 < end && at[1] == '"' ? 2 : 1;
    value->length = (at > end ? end : at) - value->at;
    return at < end ? at + 1 : end;
  }
  value->at = at;
  while (at < end && *at != ';')
    at++;
  value->length = at - value->at;
  while (value->length && isSPACE(value->at[value->length - 1]))
    value->length--;
  return at;
}

bool mehari_form_attribute(mehari_text header, const char *key, mehari_text *value)
{
  mehari_text found;
  STRLEN length = strlen(key);
  for (const char *at = header.at, *end = at + header.length; (at = read_attribute(at, end, &found, value));)
    if (found.length == length && !strncasecmp(found.at, key, length))
      return true;
  return false;
}

/* Reads `Name: value` lines up to the empty line. NULL: the empty line is missing, or a line is
 * not a field. */
static const char *read_head(mehari_table *info, const char *at, const char *end)
{
  if (end - at > PART_HEAD_LIMIT)
    end = at + PART_HEAD_LIMIT;
  for (const char *feed; (feed = memchr(at, '\n', end - at)); at = feed + 1) {
    const char *stop = feed > at && feed[-1] == '\r' ? feed - 1 : feed;
    if (stop == at)
      return feed + 1;
    const char *colon = memchr(at, ':', stop - at);
    if (!colon || colon == at || memchr(at, '\0', stop - at))
      return NULL;
    const char *value = colon + 1;
    while (value < stop && (*value == ' ' || *value == '\t'))
      value++;
    mehari_table_add(info, (mehari_text){at, colon - at}, (mehari_text){value, stop - value});
  }
  return NULL;
}

/* Undoes a browser's quoting: a quote in a name comes as %22 or \". A text longer than `room` is
 * cut. */
static mehari_text unquoted(char *into, size_t room, mehari_text text)
{
  STRLEN length = 0;
  for (STRLEN i = 0; i < text.length && length < room; i++)
    if (!(text.at[i] == '\\' && i + 1 < text.length && text.at[i + 1] == '"'))
      into[length++] = text.at[i];
  return (mehari_text){into, length};
}

static void add_upload(mehari_uploads *uploads, mehari_table *info, mehari_text name, mehari_text file_name, mehari_text content, const char *body)
{
  if (uploads->count == uploads->capacity) {
    uploads->capacity = uploads->capacity ? uploads->capacity * 2 : 4;
    Renew(uploads->at, uploads->capacity, mehari_upload);
  }
  dTHX;
  mehari_upload *upload = &uploads->at[uploads->count++];
  *upload = (mehari_upload){savepvn(name.at, name.length), name.length, info, savepvn(file_name.at, file_name.length), file_name.length,
                            content.at - body, content.length};
  info->holders++;
}

static int take_part(mehari_table *into, mehari_uploads *uploads, mehari_table *info, mehari_text content, const char *body)
{
  const mehari_entry *disposition = mehari_table_find(info, (mehari_text){"Content-Disposition", 19});
  mehari_text quoted;
  if (!disposition || !mehari_form_attribute((mehari_text){disposition->value, disposition->value_length}, "name", &quoted))
    return MEHARI_FORM_BAD_HEADER;
  char names[PART_HEAD_LIMIT]; /* both texts are parts of one header line */
  mehari_text name = unquoted(names, sizeof names, quoted);
  if (!mehari_form_attribute((mehari_text){disposition->value, disposition->value_length}, "filename", &quoted)) {
    mehari_table_add(into, name, content);
    return MEHARI_FORM_OK;
  }
  mehari_text file_name = unquoted(names + name.length, sizeof names - name.length, quoted);
  mehari_table_add(into, name, file_name);
  add_upload(uploads, info, name, file_name, content, body);
  return MEHARI_FORM_OK;
}

/* Finds the next delimiter line from `at` on. Returns the start of the delimiter, and in `after`
 * the text behind the delimiter line. The CRLF before a delimiter belongs to the delimiter. */
static const char *find_delimiter(const char *at, const char *end, mehari_text delimiter, const char **after)
{
  for (const char *found = at; (found = memmem(found, end - found, delimiter.at, delimiter.length)); found++) {
    *after = found + delimiter.length;
    const char *next = *after;
    if (end - next >= 2 && next[0] == '-' && next[1] == '-')
      return found;
    while (next < end && (*next == ' ' || *next == '\t'))
      next++;
    if (end - next >= 2 && next[0] == '\r' && next[1] == '\n') {
      *after = next + 2;
      return found;
    }
  }
  return NULL;
}

int mehari_form_multipart(mehari_table *into, mehari_uploads *uploads, mehari_text body, mehari_text boundary)
{
  char line[4 + LONGEST_BOUNDARY];
  if (!boundary.length || boundary.length > LONGEST_BOUNDARY)
    return MEHARI_FORM_NO_BOUNDARY;
  memcpy(line, "\r\n--", 4);
  memcpy(line + 4, boundary.at, boundary.length);
  mehari_text delimiter = {line, boundary.length + 4};
  const char *end = body.at + body.length, *at, *after;
  /* The first delimiter may stand at the very start of the body. */
  if (body.length >= delimiter.length - 2 && memEQ(body.at, line + 2, delimiter.length - 2))
    at = find_delimiter(body.at, end, (mehari_text){line + 2, delimiter.length - 2}, &after);
  else
    at = find_delimiter(body.at, end, delimiter, &after);
  while (at) {
    if (end - after >= 2 && after[0] == '-' && after[1] == '-' && after[-1] != '\n')
      return MEHARI_FORM_OK;
    if (into->count >= MEHARI_FORM_PARAMETERS)
      return MEHARI_FORM_OVER_LIMIT;
    mehari_table *info = mehari_table_new();
    const char *content = read_head(info, after, end);
    /* If a part is empty, the CRLF of its delimiter is the CRLF that ends its head. */
    at = content ? find_delimiter(content - 2 >= after ? content - 2 : content, end, delimiter, &after) : NULL;
    int status = !content ? MEHARI_FORM_BAD_HEADER : !at ? MEHARI_FORM_BAD_DATA :
                 take_part(into, uploads, info, (mehari_text){content, at > content ? at - content : 0}, body.at);
    mehari_table_release(info);
    if (status)
      return status;
  }
  return MEHARI_FORM_BAD_DATA;
}
