/* Writes lines for the error log: to the front, or to descriptor 2 while no request is served. */
#include "mailbox/mailbox.h"
#include "interpreter/interpreter.h"
#include "stdio/standard.h"
#include <stdarg.h>

bool mehari_log_levels;

/* Writes the lines of a text to descriptor 2. Each begins with its level, which the front reads. */
static void write_lines(int level, const char *text, STRLEN length)
{
  for (const char *end = text + length; text <= end;) {
    const char *stop = memchr(text, '\n', end - text);
    int size = (int)((stop ? stop : end) - text);
    dprintf(2, MEHARI_LOG_MARK "%d%.*s\n", level, size, text);
    text += size + 1;
  }
}

/* Writes one line for the error log. The front adds the request and this worker to the line. */
void mehari_log(int level, const char *text, STRLEN length)
{
  while (length && (text[length - 1] == '\n' || text[length - 1] == '\r'))
    length--;
  if (mehari_errors_are_quiet())
    return;
  dTHX;
  if (!mehari_serving && !mehari_in_child && mehari_log_levels) {
    write_lines(level, text, length);
    return;
  }
  if (!mehari_serving || mehari_in_child || mehari_in_thread(aTHX)) {
    dprintf(2, "%.*s\n", (int)length, text);
    return;
  }
  if (length > 8192)
    length = 8192;
  mehari_text line = {text, length};
  mehari_ring_put(MEHARI_RECORD_LOG, level, &line, 1);
}

void mehari_logf(int level, const char *format, ...)
{
  char line[2048];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length > 0)
    mehari_log(level, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}
