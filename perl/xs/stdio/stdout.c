/* STDOUT: the layer that fills the response, and descriptor 1 below it.
 *
 * Descriptor 1 is a memory file. C libraries write to this file, and response/response.c takes
 * their text into the response in order. Before a child process starts, the tap (tap.c) replaces
 * the memory file. */
#include "stdio/standard.h"
#include "api/api.h"
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "mailbox/mailbox.h"
#include "process/process.h"
#include "response/response.h"
#include "script/script.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/mman.h>
#include <unistd.h>

MEHARI_WRITTEN bool mehari_stdout_aside, mehari_may_have_spawned;

static int memory_file = -1; /* the file of descriptor 1 */
MEHARI_WRITTEN static off_t drained; /* how many bytes of the file were already taken */
MEHARI_WRITTEN static bool spilled;
MEHARI_WRITTEN static Off_t written; /* bytes that went through the layer in this request */
MEHARI_WRITTEN static bool was_empty; /* whether the file was empty when a response was complete */

static PerlIO_funcs layer;
static mehari_standard output = {.name = "STDOUT", .descriptor = 1, .layer = &layer};

/* ---- descriptor 1 ---- */

/* Logs what children and C code wrote to descriptor 1 if it does not belong to the response. */
static void log_descriptor(void)
{
  off_t size = lseek(memory_file, 0, SEEK_END);
  if (size <= drained)
    return;
  spilled = true;
  char line[4096];
  ssize_t got;
  while (drained < size && (got = pread(memory_file, line, sizeof line, drained)) > 0) {
    char *feed = memrchr(line, '\n', got);
    size_t part = feed ? (size_t)(feed + 1 - line) : (size_t)got;
    mehari_log(MEHARI_LOG_ERROR, line, part);
    drained += part;
  }
}

/* Whether children or C code wrote data for the response. If such data belong to the log instead,
 * they are logged here. */
bool mehari_stdout_has_more(void)
{
  if (mehari_stdout_aside) {
    log_descriptor();
    return false;
  }
  off_t size = lseek(memory_file, 0, SEEK_END);
  was_empty = !size;
  return size > drained;
}

ssize_t mehari_stdout_take(char *window, size_t size)
{
  ssize_t got = pread(memory_file, window, size, drained);
  if (got > 0) {
    drained += got;
    spilled = true;
  }
  return got;
}

/* Makes layers above ours, and C's stdout, pass on the text that they hold. */
void mehari_stdout_flush(pTHX)
{
  PerlIO *now = output.io && !mehari_perl_has_ended(aTHX) ? IoOFP(output.io) : NULL;
  PL_op = NULL;
  if (now && PerlIOValid(now))
    PerlIO_flush(now);
  if (output.handle && output.handle != now && !mehari_perl_has_ended(aTHX) && PerlIOValid(output.handle))
    PerlIO_flush(output.handle);
  if (__fpending(stdout))
    fflush(stdout);
}

/* ---- the layer ---- */

static SSize_t note_broken_pipe(PerlIO *handle)
{
  PerlIOBase(handle)->flags |= PERLIO_F_ERROR;
  errno = EPIPE;
  return -1;
}

/* Tells a script that its client has left. A program gets SIGTERM and EPIPE, as a CGI program under
 * Apache. Other scripts die, as under mod_perl. */
static SSize_t fail(pTHX_ PerlIO *handle, const char *function)
{
  if (!mehari_is_program)
    mehari_throw(aTHX_ ECONNABORTED, function);
  mehari_tap_end_writer();
  return note_broken_pipe(handle);
}

static SSize_t layer_write(pTHX_ PerlIO *handle, const void *bytes, Size_t length)
{
  if (mehari_stdout_aside)
    return PerlIO_write(PerlIO_stderr(), bytes, length);
  /* C code still writes to this handle when the script has moved its own STDOUT. A program may have
   * opened another handle with this layer by `:Apache2`. */
  if (handle == output.handle && mehari_standard_is_elsewhere(aTHX_ & output)) {
    if (IoOFP(output.io) && PerlIOValid(IoOFP(output.io)))
      PerlIO_flush(IoOFP(output.io));
    return write(1, bytes, length);
  }
  if (mehari_output_is_lost(length))
    return fail(aTHX_ handle, ":Apache2 IO write");
  mehari_output_write(bytes, length);
  if (mehari_in_child && mehari_tap_has_failed())
    return note_broken_pipe(handle);
  written += length;
  return length;
}

/* A program's STDOUT counts the bytes, as perl's own layer does on a pipe. CGI::Carp, for example,
 * asks whether there was a head. As under mod_perl, other code learns nothing. */
static Off_t layer_tell(pTHX_ PerlIO *handle)
{
  PERL_UNUSED_ARG(handle);
  if (mehari_is_program)
    return written;
  errno = EINVAL;
  return -1;
}

/* Called before other processes write to descriptor 1. */
void mehari_stdout_share(pTHX)
{
  if (output.replaced)
    return; /* the script's own file, to which no part of the response goes */
  if (mehari_stdout_aside && !mehari_in_child) {
    dup2(2, 1);
    output.replaced = true;
    mehari_touched |= MEHARI_TOUCHED_FILES;
  } else
    mehari_output_share(aTHX);
}

/* Flushes. Perl flushes for three reasons: before a child process starts, before the handle is
 * duplicated, or because the script wants its text sent. The current operator shows the reason. */
static IV layer_flush(pTHX_ PerlIO *handle)
{
  PERL_UNUSED_ARG(handle);
  if (!PL_op)
    return 0;
  switch (PL_op->op_type) {
  case OP_SYSTEM: case OP_EXEC: case OP_FORK: case OP_BACKTICK: case OP_OPEN:
    mehari_may_have_spawned = true;
    if (!mehari_child_has_own_stdout)
      mehari_stdout_share(aTHX);
    break;
  case OP_PRINT: case OP_SAY: case OP_PRTF: case OP_ENTERSUB: case OP_LEAVEWRITE: case OP_SYSWRITE:
    if (mehari_stdout_aside)
      break;
    if (mehari_output_waits() && mehari_client_has_left())
      return fail(aTHX_ handle, ":Apache2 IO flush");
    mehari_output_flush();
    if (mehari_in_child && mehari_tap_has_failed())
      return note_broken_pipe(handle);
    break;
  }
  return 0;
}

static IV layer_close(pTHX_ PerlIO *handle)
{
  if (mehari_is_output(handle) && (mehari_in_child || mehari_tap_is_open()))
    mehari_output_spill();
  return mehari_standard_close(aTHX_ handle);
}

static PerlIO *layer_dup(pTHX_ PerlIO *handle, PerlIO *old, CLONE_PARAMS *parameters, int flags)
{
  if (!(flags & PERLIO_DUP_CLONE)) { /* for a thread it was already shared (process/watch.c) */
    mehari_may_have_spawned = true;
    mehari_stdout_share(aTHX);
  }
  return mehari_standard_dup(aTHX_ handle, old, parameters, flags);
}

static PerlIO_funcs layer = {
  sizeof(PerlIO_funcs), "mehari_out", sizeof(struct _PerlIO) + sizeof(int), PERLIO_K_RAW,
  mehari_standard_pushed, mehari_standard_popped, NULL, PerlIOBase_binmode, NULL, mehari_standard_fileno, layer_dup,
  NULL, NULL, layer_write, NULL, layer_tell, layer_close, layer_flush, NULL,
  PerlIOBase_eof, PerlIOBase_error, PerlIOBase_clearerr, PerlIOBase_setlinebuf,
  NULL, NULL, NULL, NULL, NULL,
};

PerlIO_funcs *mehari_output_layer(void) { return &layer; }

bool mehari_is_output(PerlIO *handle)
{
  return PerlIOValid(handle) && PerlIOBase(handle)->tab == &layer;
}

void mehari_output_reopened(pTHX_ IO *io) { mehari_standard_reopened(aTHX_ & output, io); }

void mehari_stdout_restore_descriptor(void)
{
  dup2(memory_file, 1);
  output.replaced = false;
}

void mehari_stdout_replaced(void) { output.replaced = true; }
/* Nothing of a program runs after its response is complete. */
bool mehari_stdout_was_written(void)
{
  bool is_empty = was_empty && mehari_is_program && !mehari_may_have_spawned;
  return spilled || (!is_empty && lseek(memory_file, 0, SEEK_END) > 0);
}

/* Empties the file for the next request. False: another process may still hold the file and
 * write to it. */
bool mehari_stdout_empty(void) { return !mehari_may_have_spawned && ftruncate(memory_file, 0) == 0; }

void mehari_output_fresh_descriptor(void)
{
  int file = memfd_create("stdout", MFD_CLOEXEC);
  if (file < 0)
    return;
  fcntl(file, F_SETFL, O_APPEND);
  int high = fcntl(file, F_DUPFD_CLOEXEC, 10);
  close(file);
  if (memory_file >= 0) {
    mehari_descriptor_release(memory_file);
    close(memory_file);
  }
  memory_file = high;
  mehari_descriptor_claim(high);
  dup2(memory_file, 1);
  drained = 0;
}

void mehari_output_open(pTHX)
{
  mehari_standard_open(aTHX_ & output);
  mehari_output_fresh_descriptor();
  mehari_standard_attach(aTHX_ & output);
}

void mehari_output_reset_handles(pTHX)
{
  mehari_standard_restore(aTHX_ & output);
  PerlIOBase(output.handle)->flags &= ~(PERLIO_F_UTF8 | PERLIO_F_ERROR);
  IoFLAGS(output.io) &= ~IOf_FLUSH;
  IoLINES(output.io) = 0;
  if (PL_defoutgv != output.gv)
    setdefout(output.gv);
  PL_last_in_gv = NULL;
  if (output.replaced)
    mehari_stdout_restore_descriptor();
  /* A child that a library started may still have the memory file open. No other request may get
   * this child's later output. */
  if (mehari_may_have_spawned || spilled)
    mehari_output_fresh_descriptor();
  mehari_may_have_spawned = spilled = false;
}

void mehari_stdout_begin(pTHX)
{
  mehari_stdout_aside = false;
  written = 0;
  if (!output.handle || PerlIOBase(output.handle)->tab != &layer || IoOFP(output.io) != output.handle)
    mehari_output_reset_handles(aTHX);
}
