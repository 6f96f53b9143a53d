/* Checks header blocks: the lines that a script printed or an application set. Lines with an
 * invalid name, or with a CR, LF or NUL that could split the response, are refused. */
#include "response/head.h"
#include "mailbox/mailbox.h"

void mehari_head_clear(mehari_head *head)
{
  head->status = 0;
  head->length = 0;
  head->refused = false;
}

static void append(mehari_head *head, const char *bytes, STRLEN length)
{
  if (head->length + length > head->capacity) {
    STRLEN wanted = (head->length + length) * 2;
    head->capacity = wanted < 1024 ? 1024 : wanted;
    head->lines = saferealloc(head->lines, head->capacity);
  }
  mehari_bytes(head->lines + head->length, bytes, length);
  head->length += length;
}

/* Whether a text consists of token characters (RFC 9110 section 5.6.2). */
static bool is_token(const char *text, STRLEN length)
{
  static const char allowed[256] = {
    ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1, ['&'] = 1, ['\''] = 1, ['*'] = 1, ['+'] = 1, ['-'] = 1,
    ['.'] = 1, ['^'] = 1, ['_'] = 1, ['`'] = 1, ['|'] = 1, ['~'] = 1,
    ['0' ... '9'] = 1, ['A' ... 'Z'] = 1, ['a' ... 'z'] = 1,
  };
  for (STRLEN i = 0; i < length; i++)
    if (!allowed[(unsigned char)text[i]])
      return false;
  return length > 0;
}

static bool is_value(const char *text, STRLEN length)
{
  return !memchr(text, '\n', length) && !memchr(text, '\r', length) && !memchr(text, '\0', length);
}

bool mehari_head_add(mehari_head *head, const char *name, STRLEN name_length, const char *value, STRLEN value_length)
{
  if (!is_token(name, name_length) || !is_value(value, value_length)) {
    mehari_text task = mehari_request_text(MEHARI_TEXT_TASK);
    mehari_logf(MEHARI_LOG_ERROR, "refused a response header of %.*s: \"%.*s\" has %s", (int)task.length, task.at,
                (int)(name_length > 60 ? 60 : name_length), name,
                is_token(name, name_length) ? "a line break or NUL in its value" : "a name that is no header name");
    head->refused = true;
    return false;
  }
  append(head, name, name_length);
  append(head, ": ", 2);
  append(head, value, value_length);
  append(head, "\r\n", 2);
  return true;
}

void mehari_head_add_reason(mehari_head *head, const char *text, STRLEN length)
{
  if (length < 5 || !isDIGIT(text[0]) || !isDIGIT(text[1]) || !isDIGIT(text[2]) || text[3] != ' ')
    return;
  for (STRLEN i = 0; i < length; i++)
    if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
      return;
  append(head, ":", 1);
  append(head, text, length);
  append(head, "\r\n", 2);
}

void mehari_head_mark(mehari_head *head, char table)
{
  append(head, ":", 1);
  append(head, &table, 1);
  append(head, "\r\n", 2);
}

/* Returns the length of the header block. The block ends at an empty line, with LF or CRLF as line
 * ends. If the text starts with an empty line, the block is only this line. */
STRLEN mehari_head_measure(const char *text, STRLEN length)
{
  const char *end = text + length, *line = text;
  while (line < end) {
    if (*line == '\n')
      return line + 1 - text;
    if (*line == '\r' && line + 1 < end && line[1] == '\n')
      return line + 2 - text;
    const char *feed = memchr(line, '\n', end - line);
    if (!feed)
      return 0;
    line = feed + 1;
  }
  return 0;
}

static void log_malformed(const char *what, const char *line, STRLEN length)
{
  mehari_text name = mehari_request_text(MEHARI_TEXT_TASK);
  mehari_logf(MEHARI_LOG_ERROR, "malformed header from script %.*s: %s: %.*s", (int)name.length, name.at, what, (int)(length > 200 ? 200 : length), line);
}

static bool parse_status(mehari_head *head, const char *value, STRLEN length)
{
  if (length < 3 || !isDIGIT(value[0]) || !isDIGIT(value[1]) || !isDIGIT(value[2]) || (length > 3 && isDIGIT(value[3])))
    return false;
  int status = (value[0] - '0') * 100 + (value[1] - '0') * 10 + value[2] - '0';
  if (status < 200 || status > 599)
    return false;
  head->status = status;
  mehari_head_add_reason(head, value, length);
  return true;
}

/* Drops the earlier line of a field whose last value counts, as in Apache. */
void mehari_head_replace(mehari_head *head, const char *name, STRLEN length)
{
  STRLEN start = 0;
  while (start < head->length) {
    const char *feed = memchr(head->lines + start, '\n', head->length - start);
    STRLEN next = feed ? feed + 1 - head->lines : head->length;
    if (next - start > length && head->lines[start + length] == ':' && !strncasecmp(head->lines + start, name, length)) {
      memmove(head->lines + start, head->lines + next, head->length - next);
      head->length -= next - start;
    } else {
      start = next;
    }
  }
}

static bool is_said_once(const char *name, STRLEN length)
{
  return (length == 12 && !strncasecmp(name, "Content-Type", 12)) || (length == 8 && !strncasecmp(name, "Location", 8));
}

static bool parse_line(mehari_head *head, const char *line, STRLEN length)
{
  const char *colon = memchr(line, ':', length);
  if (!colon) {
    /* Of the status line that an `nph-` script writes itself, only the status counts, because the
     * server frames the response. */
    if (length >= 12 && strnEQ(line, "HTTP/1.", 7) && line[8] == ' ')
      return parse_status(head, line + 9, length - 9);
    log_malformed("bad header", line, length);
    return false;
  }
  const char *value = colon + 1, *end = line + length;
  while (value < end && (*value == ' ' || *value == '\t'))
    value++;
  while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
    end--;
  if (colon - line == 6 && !strncasecmp(line, "Status", 6)) {
    if (parse_status(head, value, end - value))
      return true;
    log_malformed("Status is not a number from 200 to 599", line, length);
    return false;
  }
  if (head->length && is_said_once(line, colon - line))
    mehari_head_replace(head, line, colon - line);
  return mehari_head_add(head, line, colon - line, value, end - value);
}

bool mehari_head_parse(mehari_head *head, const char *text, STRLEN length)
{
  const char *line = text, *end = text + length;
  while (line < end) {
    const char *feed = memchr(line, '\n', end - line);
    const char *stop = feed ? feed : end;
    const char *next = feed ? feed + 1 : end;
    if (stop > line && stop[-1] == '\r')
      stop--;
    if (stop > line && !parse_line(head, line, stop - line))
      return false;
    line = next;
  }
  return true;
}
