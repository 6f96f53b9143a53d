/* STDIN: reads the request's body in place. Child processes get the unread rest of the body on
 * descriptor 0. */
#include "stdio/standard.h"
#include "api/api.h"
#include "mailbox/mailbox.h"
#include "process/process.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

MEHARI_WRITTEN static size_t position;
static mehari_standard input = {.name = "STDIN", .descriptor = 0, .layer = &mehari_input_layer};
static int null_file = -1;

static size_t rest(void) { return mehari_now.body_length - position; }
STRLEN mehari_input_rest(void) { return rest(); }
void mehari_input_restart(void) { position = 0; }

/* As under mod_perl, reading dies if a filter of the body has died. */
static void check_filters(pTHX)
{
  if (mehari_input_refused)
    croak("the request's body cannot be read, because an input filter has died");
}

STRLEN mehari_input_read(char *into, STRLEN length)
{
  dTHX;
  check_filters(aTHX);
  if (length > rest())
    length = rest();
  if (length)
    mehari_bytes(into, mehari_now.body + position, length);
  position += length;
  return length;
}

static SSize_t layer_read(pTHX_ PerlIO *handle, void *into, Size_t length)
{
  STRLEN got = mehari_input_read(into, length);
  if (!got && length)
    PerlIOBase(handle)->flags |= PERLIO_F_EOF;
  return got;
}

/* Takes bytes back, for example those that a layer above has read ahead and has not used. If they
 * are not the bytes before the position, perl keeps them in a layer of their own. */
static SSize_t layer_unread(pTHX_ PerlIO *handle, const void *bytes, Size_t length)
{
  if (length > position || memNE(mehari_now.body + position - length, bytes, length))
    return PerlIOBase_unread(aTHX_ handle, bytes, length);
  position -= length;
  PerlIOBase(handle)->flags &= ~PERLIO_F_EOF;
  return length;
}

static IV layer_fill(pTHX_ PerlIO *handle)
{
  check_filters(aTHX);
  if (rest())
    return 0;
  PerlIOBase(handle)->flags |= PERLIO_F_EOF;
  return -1;
}

static IV layer_seek(pTHX_ PerlIO *handle, Off_t offset, int whence)
{
  Off_t target = mehari_seek_position(offset, whence, position, mehari_now.body_length);
  if (target < 0)
    return -1;
  position = target;
  PerlIOBase(handle)->flags &= ~PERLIO_F_EOF;
  return 0;
}

static Off_t layer_tell(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return position; }

/* Called for every handle before a child process starts. */
static IV layer_flush(pTHX_ PerlIO *handle)
{
  PERL_UNUSED_ARG(handle);
  if (!PL_op || !mehari_serving)
    return 0;
  switch (PL_op->op_type) {
  case OP_SYSTEM: case OP_EXEC: case OP_FORK: case OP_BACKTICK: case OP_OPEN: case OP_PIPE_OP:
    mehari_input_spill();
  }
  return 0;
}

void mehari_input_spill(void)
{
  if (!rest() || input.replaced)
    return;
  mehari_touched |= MEHARI_TOUCHED_FILES;
  if (mehari_now.body_file >= 0) {
    lseek(mehari_now.body_file, position, SEEK_SET);
    dup2(mehari_now.body_file, 0);
  } else {
    int file = memfd_create("stdin", MFD_CLOEXEC);
    if (file < 0)
      return;
    (void)!write(file, mehari_now.body + position, rest());
    lseek(file, 0, SEEK_SET);
    dup2(file, 0);
    if (file)
      close(file);
  }
  input.replaced = true;
}

static IV layer_eof(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return !rest(); }
static STDCHAR *layer_base(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return (STDCHAR *)mehari_now.body; }
static Size_t layer_size(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return mehari_now.body_length; }
static STDCHAR *layer_ptr(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return (STDCHAR *)mehari_now.body + position; }
static SSize_t layer_count(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return rest(); }

static void layer_set(pTHX_ PerlIO *handle, STDCHAR *at, SSize_t count)
{
  PERL_UNUSED_ARG(handle);
  PERL_UNUSED_ARG(at);
  position = mehari_now.body_length - count;
}

static PerlIO *layer_dup(pTHX_ PerlIO *handle, PerlIO *old, CLONE_PARAMS *parameters, int flags)
{
  mehari_input_spill();
  return mehari_standard_dup(aTHX_ handle, old, parameters, flags);
}

PerlIO_funcs mehari_input_layer = {
  sizeof(PerlIO_funcs), "mehari_in", sizeof(struct _PerlIO) + sizeof(int), PERLIO_K_RAW | PERLIO_K_FASTGETS,
  mehari_standard_pushed, mehari_standard_popped, NULL, PerlIOBase_binmode, NULL, mehari_standard_fileno, layer_dup,
  layer_read, layer_unread, NULL, layer_seek, layer_tell, mehari_standard_close, layer_flush, layer_fill,
  layer_eof, PerlIOBase_error, PerlIOBase_clearerr, PerlIOBase_setlinebuf,
  layer_base, layer_size, layer_ptr, layer_count, layer_set,
};

void mehari_input_reopened(pTHX_ IO *io) { mehari_standard_reopened(aTHX_ & input, io); }
void mehari_input_is_a_pipe(pTHX) { mehari_standard_reopened(aTHX_ & input, input.io); }

void mehari_input_open(pTHX)
{
  mehari_standard_open(aTHX_ & input);
  int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  null_file = fcntl(file, F_DUPFD_CLOEXEC, 10);
  mehari_descriptor_claim(null_file);
  dup2(null_file, 0);
  if (file)
    close(file);
  mehari_standard_attach(aTHX_ & input);
}

void mehari_input_replaced(void) { input.replaced = true; }

void mehari_input_begin(pTHX)
{
  PERL_UNUSED_CONTEXT;
  position = 0;
  /* Nothing is written without need, because writing unshares the memory's page. */
  const U32 left = PERLIO_F_EOF | PERLIO_F_ERROR | PERLIO_F_UTF8;
  if (PerlIOBase(input.handle)->flags & left)
    PerlIOBase(input.handle)->flags &= ~left;
  if (IoLINES(input.io))
    IoLINES(input.io) = 0;
  /* With this flag a reader of all of an empty body gets undef, not an empty text. */
  if (IoFLAGS(input.io) & IOf_NOLINE)
    IoFLAGS(input.io) &= ~IOf_NOLINE;
}

void mehari_input_end(pTHX)
{
  mehari_standard_restore(aTHX_ & input);
  if (input.replaced) {
    dup2(null_file, 0);
    input.replaced = false;
  }
}
