/* STDERR: sends lines for the error log through the ring, so that the front knows the request of
 * each line. Descriptor 2 is a pipe to the front for all other output. */
#include "stdio/standard.h"
#include "mailbox/mailbox.h"
#include "process/process.h"
#include "script/script.h"
#include "interpreter/perl_internals.h"
#include <fcntl.h>
#include <unistd.h>

MEHARI_LARGE static char line[8192];
MEHARI_WRITTEN static size_t filled;
static PerlIO_funcs layer;
static mehari_standard errors = {.name = "STDERR", .descriptor = 2, .layer = &layer};
static int error_file = -1;
static bool silent;
static char last[512]; /* the last line */
MEHARI_WRITTEN static size_t last_length;

void mehari_errors_quiet(bool quiet) { silent = quiet; }
bool mehari_errors_are_quiet(void) { return silent; }

static void put_line(void)
{
  if (filled) {
    mehari_log(MEHARI_LOG_ERROR, line, filled);
    last_length = filled < sizeof last ? filled : sizeof last;
    mehari_bytes(last, line, last_length);
  }
  if (memmem(line, filled, "will not stay shared", 20))
    mehari_logf(MEHARI_LOG_WARN, "hint: a named sub keeps the variable of the first request; make it `our`, pass it as an argument, or run the script on the rung `auto`");
  filled = 0;
}

/* Whether the text is only a reference such as `HASH(0x55d0c8a3f2a8)`, with or without a class
 * before it. */
static bool is_reference(void)
{
  char text[sizeof last + 1], kind[32];
  unsigned long address;
  int end = 0;
  const char *equals = memchr(last, '=', last_length), *from = equals ? equals + 1 : last;
  size_t length = last + last_length - from;
  mehari_bytes(text, from, length);
  text[length] = '\0';
  return sscanf(text, "%31[A-Z](0x%lx)%n", kind, &address, &end) == 2 && (size_t)end == length;
}

void mehari_errors_name_script(const char *file)
{
  put_line();
  if (last_length && !memmem(last, last_length, file, strlen(file)))
    mehari_logf(MEHARI_LOG_ERROR, "%s died with %.*s%s", file, (int)last_length, last, is_reference() ? ", a reference and no text" : "");
}

mehari_text mehari_errors_last(void) { return (mehari_text){last, last_length}; }

static SSize_t layer_write(pTHX_ PerlIO *handle, const void *bytes, Size_t length)
{
  PERL_UNUSED_ARG(handle);
  if (silent)
    return length;
  if (!mehari_serving || mehari_in_child || mehari_standard_is_elsewhere(aTHX_ & errors))
    /* C code still writes here when the script has moved its own STDERR. */
    return write(2, bytes, length);
  const char *next = bytes, *end = next + length;
  while (next < end) {
    const char *feed = memchr(next, '\n', end - next);
    size_t part = (feed ? feed : end) - next;
    if (part > sizeof line - filled)
      part = sizeof line - filled;
    mehari_bytes(line + filled, next, part);
    filled += part;
    next += part;
    if (next < end && *next == '\n') {
      put_line();
      next++;
    } else if (filled == sizeof line)
      put_line();
  }
  return length;
}

static IV layer_flush(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return 0; }

static PerlIO_funcs layer = {
  sizeof(PerlIO_funcs), "mehari_err", sizeof(struct _PerlIO) + sizeof(int), PERLIO_K_RAW,
  mehari_standard_pushed, mehari_standard_popped, NULL, PerlIOBase_binmode, NULL, mehari_standard_fileno, mehari_standard_dup,
  NULL, NULL, layer_write, NULL, NULL, mehari_standard_close, layer_flush, NULL,
  PerlIOBase_eof, PerlIOBase_error, PerlIOBase_clearerr, PerlIOBase_setlinebuf,
  NULL, NULL, NULL, NULL, NULL,
};

void mehari_errors_reopened(pTHX_ IO *io)
{
  mehari_standard_reopened(aTHX_ & errors, io);
  if (io == errors.io && mehari_standard_is_elsewhere(aTHX_ & errors))
    IoFLAGS(io) |= IOf_FLUSH;
}

void mehari_errors_open(pTHX)
{
  mehari_standard_open(aTHX_ & errors);
  error_file = fcntl(2, F_DUPFD_CLOEXEC, 10);
  mehari_descriptor_claim(error_file);
  mehari_standard_attach(aTHX_ & errors);
}

/* Flags such as O_NONBLOCK belong to an open file. Without a file of its own, a script would change
 * them for all processes. Without /proc, the processes keep sharing one file. */
void mehari_errors_take_own_file(void)
{
  int file = open("/proc/self/fd/2", O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return;
  fcntl(file, F_SETFL, fcntl(2, F_GETFL));
  dup2(file, 2);
  dup3(file, error_file, O_CLOEXEC);
  close(file);
}

void mehari_errors_replaced(void) { errors.replaced = true; }

void mehari_errors_begin(pTHX) { PERL_UNUSED_CONTEXT; filled = last_length = 0; }

void mehari_errors_end(pTHX)
{
  put_line();
  if (mehari_perl_has_ended(aTHX))
    return;
  mehari_standard_restore(aTHX_ & errors);
  if (errors.replaced) {
    dup2(error_file, 2);
    errors.replaced = false;
  }
}
