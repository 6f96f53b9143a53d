/* STDIN: the request's body, read in place. For child processes the unread rest is put on descriptor 0. */
#include "mehari.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t position;
static PerlIO *layer_handle;
static GV *stdin_gv;
static GP *stdin_gp;
static IO *stdin_io;
static int null_file = -1;
static bool descriptor_replaced;

static size_t rest(void) { return mehari_now.body_length - position; }

STRLEN mehari_input_read(char *into, STRLEN length)
{
  if (length > rest())
    length = rest();
  if (length)
    memcpy(into, mehari_now.body + position, length);
  position += length;
  return length;
}

static IV layer_pushed(pTHX_ PerlIO *handle, const char *mode, SV *argument, PerlIO_funcs *table)
{
  IV code = PerlIOBase_pushed(aTHX_ handle, mode, argument, table);
  PerlIOBase(handle)->flags |= PERLIO_F_OPEN | PERLIO_F_CANREAD | PERLIO_F_FASTGETS;
  return code;
}

static IV layer_popped(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return 0; }
static IV layer_fileno(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return 0; }

static SSize_t layer_read(pTHX_ PerlIO *handle, void *into, Size_t length)
{
  STRLEN got = mehari_input_read(into, length);
  if (!got && length)
    PerlIOBase(handle)->flags |= PERLIO_F_EOF;
  return got;
}

static IV layer_fill(pTHX_ PerlIO *handle)
{
  if (rest())
    return 0;
  PerlIOBase(handle)->flags |= PERLIO_F_EOF;
  return -1;
}

static IV layer_seek(pTHX_ PerlIO *handle, Off_t offset, int whence)
{
  Off_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (Off_t)position : (Off_t)mehari_now.body_length;
  Off_t target = base + offset;
  if (target < 0 || target > (Off_t)mehari_now.body_length)
    return -1;
  position = target;
  PerlIOBase(handle)->flags &= ~PERLIO_F_EOF;
  return 0;
}

static Off_t layer_tell(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return position; }

static IV layer_close(pTHX_ PerlIO *handle)
{
  PerlIOBase(handle)->flags &= ~(PERLIO_F_CANWRITE | PERLIO_F_CANREAD | PERLIO_F_OPEN);
  if (handle == layer_handle) {
    close(0);
    descriptor_replaced = true;
    layer_handle = NULL;
  }
  return 0;
}

/* Called for every handle before a child starts. */
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
  if (!rest() || descriptor_replaced)
    return;
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
  descriptor_replaced = true;
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
  PERL_UNUSED_ARG(parameters);
  PERL_UNUSED_ARG(old);
  mehari_input_spill();
  int file = flags & PERLIO_DUP_FD ? dup(0) : 0;
  return PerlIO_openn(aTHX_ ":unix:perlio", "r", file, 0, 0, handle, 0, NULL);
}

PerlIO_funcs mehari_input_layer = {
  sizeof(PerlIO_funcs), "mehari_in", sizeof(struct _PerlIO) + sizeof(int), PERLIO_K_RAW | PERLIO_K_FASTGETS,
  layer_pushed, layer_popped, NULL, PerlIOBase_binmode, NULL, layer_fileno, layer_dup,
  layer_read, PerlIOBase_unread, NULL, layer_seek, layer_tell, layer_close, layer_flush, layer_fill,
  layer_eof, PerlIOBase_error, PerlIOBase_clearerr, PerlIOBase_setlinebuf,
  layer_base, layer_size, layer_ptr, layer_count, layer_set,
};

void mehari_input_reopened(pTHX_ IO *io)
{
  if (io != stdin_io)
    return;
  descriptor_replaced = true;
  if (layer_handle && IoIFP(io) == layer_handle)
    IoIFP(io) = PerlIO_fdopen(0, "r");
}

static void attach_layer(pTHX)
{
  PerlIO *handle = PerlIO_stdin();
  while (PerlIOValid(handle))
    PerlIO_pop(aTHX_ handle);
  layer_handle = PerlIO_push(aTHX_ handle, &mehari_input_layer, "r", NULL);
  IoIFP(stdin_io) = layer_handle;
  IoOFP(stdin_io) = NULL;
  IoTYPE(stdin_io) = IoTYPE_RDONLY;
}

void mehari_input_open(pTHX)
{
  PerlIO_define_layer(aTHX_ &mehari_input_layer);
  stdin_gv = gv_fetchpvs("STDIN", GV_ADD, SVt_PVIO);
  stdin_io = (IO *)SvREFCNT_inc_NN((SV *)GvIOn(stdin_gv));
  stdin_gp = gp_ref(GvGP(stdin_gv));
  int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  null_file = fcntl(file, F_DUPFD_CLOEXEC, 10);
  mehari_descriptor_claim(null_file);
  dup2(null_file, 0);
  if (file)
    close(file);
  attach_layer(aTHX);
}

void mehari_input_replaced(void) { descriptor_replaced = true; }

void mehari_input_begin(pTHX)
{
  position = 0;
  PerlIOBase(layer_handle)->flags &= ~(PERLIO_F_EOF | PERLIO_F_ERROR | PERLIO_F_UTF8);
  IoLINES(stdin_io) = 0;
}

void mehari_input_end(pTHX)
{
  if (GvGP(stdin_gv) != stdin_gp) {
    gp_free(stdin_gv);
    GvGP_set(stdin_gv, gp_ref(stdin_gp));
  }
  if (GvIOp(stdin_gv) != stdin_io) {
    SvREFCNT_dec((SV *)GvIOp(stdin_gv));
    GvIOp(stdin_gv) = (IO *)SvREFCNT_inc_NN((SV *)stdin_io);
  }
  if (SvRMAGICAL((SV *)stdin_io))
    sv_unmagic((SV *)stdin_io, PERL_MAGIC_tiedscalar);
  if (IoIFP(stdin_io) != layer_handle || !layer_handle) {
    if (IoIFP(stdin_io) && IoIFP(stdin_io) != layer_handle)
      PerlIO_close(IoIFP(stdin_io));
    descriptor_replaced = true;
    if (layer_handle && PerlIOValid(layer_handle))
      IoIFP(stdin_io) = layer_handle;
    else
      attach_layer(aTHX);
  }
  while (PerlIOBase(layer_handle)->tab != &mehari_input_layer)
    PerlIO_pop(aTHX_ layer_handle);
  if (descriptor_replaced) {
    dup2(null_file, 0);
    descriptor_replaced = false;
  }
}
