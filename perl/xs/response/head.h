/* Header blocks. */
#ifndef MEHARI_HEAD_H
#define MEHARI_HEAD_H

#include "mehari.h"

typedef struct {
  int status; /* 0: not given */
  char *lines; /* `Name: value\r\n` each */
  STRLEN length, capacity;
  bool refused; /* whether a line must not be sent; the log already has the reason */
} mehari_head;
void mehari_head_clear(mehari_head *head);
/* Drops the lines with this name. */
void mehari_head_replace(mehari_head *head, const char *name, STRLEN length);
bool mehari_head_add(mehari_head *head, const char *name, STRLEN name_length, const char *value, STRLEN value_length);
/* Adds the words of a status (`404 Nothing here`) as a line that begins with a colon. A text that
 * is not a status with words adds no line. */
void mehari_head_add_reason(mehari_head *head, const char *text, STRLEN length);
/* Says to which of Apache's tables the following lines belong: MEHARI_HEAD_OUT or MEHARI_HEAD_ERR,
 * as a line that begins with a colon. The table of lines before such a line depends on what has
 * made them: a script prints into err_headers_out, a handler's fields are those of headers_out. */
#define MEHARI_HEAD_OUT 'o'
#define MEHARI_HEAD_ERR 'e'
void mehari_head_mark(mehari_head *head, char table);
/* Returns the length of the header block at the start of `text`, with its empty line. 0: the block
 * is incomplete. */
STRLEN mehari_head_measure(const char *text, STRLEN length);
/* Parses a script's header block. False: it is invalid, and a log line has the reason. */
bool mehari_head_parse(mehari_head *head, const char *text, STRLEN length);

#endif
