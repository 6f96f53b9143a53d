/* STDOUT: the layer that fills the response, and descriptor 1 below it.
 *
 * Descriptor 1 is a memory file: C libraries write there, and response.c takes their text into the response
 * in order. Before a child process starts the tap takes its place (tap.c).
 */
#include "mehari.h"
#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/mman.h>
#include <unistd.h>

bool mehari_stdout_aside, mehari_may_have_spawned;

static int memory_file = -1; /* what descriptor 1 is */
static off_t drained;        /* bytes of it already taken */
static bool spilled;

static PerlIO *layer_handle;
static GV *stdout_gv;
static GP *stdout_gp;
static IO *stdout_io;
static bool descriptor_replaced;

/* ---- descriptor 1 ---- */

/* What children and C code wrote to descriptor 1, when that is no part of the response. */
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

/* True: children wrote what is for the response. What is for the log goes there. */
bool mehari_stdout_has_more(void)
{
  if (mehari_stdout_aside) {
    log_descriptor();
    return false;
  }
  return lseek(memory_file, 0, SEEK_END) > drained;
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

/* Layers above ours and C's own stdout may hold text back. */
void mehari_stdout_flush(pTHX)
{
  PerlIO *now = stdout_io && !mehari_perl_has_ended(aTHX) ? IoOFP(stdout_io) : NULL;
  PL_op = NULL;
  if (now && PerlIOValid(now))
    PerlIO_flush(now);
  if (layer_handle && layer_handle != now && !mehari_perl_has_ended(aTHX) && PerlIOValid(layer_handle))
    PerlIO_flush(layer_handle);
  if (__fpending(stdout))
    fflush(stdout);
}

/* ---- the layer ---- */

static IV layer_pushed(pTHX_ PerlIO *handle, const char *mode, SV *argument, PerlIO_funcs *table)
{
  IV code = PerlIOBase_pushed(aTHX_ handle, mode, argument, table);
  PerlIOBase(handle)->flags |= PERLIO_F_OPEN | PERLIO_F_CANWRITE;
  return code;
}

static IV layer_popped(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return 0; }
static IV layer_fileno(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return 1; }

static SSize_t layer_write(pTHX_ PerlIO *handle, const void *bytes, Size_t length)
{
  PERL_UNUSED_ARG(handle);
  if (mehari_stdout_aside)
    return PerlIO_write(PerlIO_stderr(), bytes, length);
  mehari_output_write(bytes, length);
  return length;
}

static void share(pTHX)
{
  if (descriptor_replaced)
    return; /* the script's own file: nothing of the response goes there */
  if (mehari_stdout_aside && !mehari_in_child) {
    dup2(2, 1);
    descriptor_replaced = true;
  } else
    mehari_output_share(aTHX);
}

/* Perl flushes for three reasons: a child is about to start, a duplicate is about to be made, or the
 * script wants its text sent. The operator that runs tells which. */
static IV layer_flush(pTHX_ PerlIO *handle)
{
  PERL_UNUSED_ARG(handle);
  if (!PL_op)
    return 0;
  switch (PL_op->op_type) {
  case OP_SYSTEM: case OP_EXEC: case OP_FORK: case OP_BACKTICK: case OP_OPEN:
    mehari_may_have_spawned = true;
    if (!mehari_child_has_own_stdout)
      share(aTHX);
    break;
  case OP_PRINT: case OP_SAY: case OP_PRTF: case OP_ENTERSUB: case OP_LEAVEWRITE: case OP_SYSWRITE:
    if (!mehari_stdout_aside)
      mehari_output_flush();
    break;
  }
  return 0;
}

static IV layer_close(pTHX_ PerlIO *handle)
{
  PerlIOBase(handle)->flags &= ~(PERLIO_F_CANWRITE | PERLIO_F_CANREAD | PERLIO_F_OPEN);
  if (handle == layer_handle) {
    if (mehari_in_child || mehari_tap_is_open())
      mehari_output_spill();
    close(1);
    descriptor_replaced = true;
    layer_handle = NULL;
  }
  return 0;
}

static PerlIO *layer_dup(pTHX_ PerlIO *handle, PerlIO *old, CLONE_PARAMS *parameters, int flags)
{
  PERL_UNUSED_ARG(parameters);
  PERL_UNUSED_ARG(old);
  mehari_may_have_spawned = true;
  share(aTHX);
  int file = flags & PERLIO_DUP_FD ? dup(1) : 1;
  return PerlIO_openn(aTHX_ ":unix:perlio", "w", file, 0, 0, handle, 0, NULL);
}

static PerlIO_funcs layer = {
  sizeof(PerlIO_funcs), "mehari_out", sizeof(struct _PerlIO) + sizeof(int), PERLIO_K_RAW,
  layer_pushed, layer_popped, NULL, PerlIOBase_binmode, NULL, layer_fileno, layer_dup,
  NULL, NULL, layer_write, NULL, NULL, layer_close, layer_flush, NULL,
  PerlIOBase_eof, PerlIOBase_error, PerlIOBase_clearerr, PerlIOBase_setlinebuf,
  NULL, NULL, NULL, NULL, NULL,
};

PerlIO_funcs *mehari_output_layer(void) { return &layer; }

bool mehari_is_output(PerlIO *handle)
{
  return PerlIOValid(handle) && PerlIOBase(handle)->tab == &layer;
}

/* `open STDOUT, ...` keeps the PerlIO and puts the new file on descriptor 1: give the script a real handle. */
void mehari_output_reopened(pTHX_ IO *io)
{
  if (io != stdout_io)
    return;
  descriptor_replaced = true;
  if (layer_handle && IoOFP(io) == layer_handle)
    IoIFP(io) = IoOFP(io) = PerlIO_fdopen(1, "w");
}

static void attach_layer(pTHX)
{
  PerlIO *handle = PerlIO_stdout();
  if (PerlIOValid(handle)) {
    PerlIO_flush(handle);
    while (PerlIOValid(handle))
      PerlIO_pop(aTHX_ handle);
  }
  layer_handle = PerlIO_push(aTHX_ handle, &layer, "w", NULL);
  IoIFP(stdout_io) = IoOFP(stdout_io) = layer_handle;
  IoTYPE(stdout_io) = IoTYPE_WRONLY;
}

void mehari_stdout_restore_descriptor(void)
{
  dup2(memory_file, 1);
  descriptor_replaced = false;
}

void mehari_stdout_replaced(void) { descriptor_replaced = true; }
bool mehari_stdout_was_written(void) { return spilled; }

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
  PerlIO_define_layer(aTHX_ &layer);
  stdout_gv = gv_fetchpvs("STDOUT", GV_ADD, SVt_PVIO);
  stdout_io = (IO *)SvREFCNT_inc_NN((SV *)GvIOn(stdout_gv));
  stdout_gp = gp_ref(GvGP(stdout_gv));
  mehari_output_fresh_descriptor();
  attach_layer(aTHX);
}

static void restore_glob(pTHX)
{
  if (GvGP(stdout_gv) != stdout_gp) {
    gp_free(stdout_gv);
    GvGP_set(stdout_gv, gp_ref(stdout_gp));
  }
  if (GvIOp(stdout_gv) != stdout_io) {
    SvREFCNT_dec((SV *)GvIOp(stdout_gv));
    GvIOp(stdout_gv) = (IO *)SvREFCNT_inc_NN((SV *)stdout_io);
  }
}

void mehari_output_reset_handles(pTHX)
{
  restore_glob(aTHX);
  if (SvRMAGICAL((SV *)stdout_io))
    sv_unmagic((SV *)stdout_io, PERL_MAGIC_tiedscalar);
  if (IoOFP(stdout_io) != layer_handle || !layer_handle) {
    if (IoOFP(stdout_io) && IoOFP(stdout_io) != layer_handle)
      PerlIO_close(IoOFP(stdout_io));
    descriptor_replaced = true;
    if (layer_handle && PerlIOValid(layer_handle))
      IoIFP(stdout_io) = IoOFP(stdout_io) = layer_handle;
    else
      attach_layer(aTHX);
  }
  while (PerlIOBase(layer_handle)->tab != &layer) {
    PerlIO_flush(layer_handle);
    PerlIO_pop(aTHX_ layer_handle);
  }
  PerlIOBase(layer_handle)->flags &= ~(PERLIO_F_UTF8 | PERLIO_F_ERROR);
  IoFLAGS(stdout_io) &= ~IOf_FLUSH;
  IoLINES(stdout_io) = 0;
  if (PL_defoutgv != stdout_gv)
    setdefout(stdout_gv);
  PL_last_in_gv = NULL;
  if (descriptor_replaced)
    mehari_stdout_restore_descriptor();
  /* A child of a library's may live on with the memory file open: what it writes later must reach nobody. */
  if (mehari_may_have_spawned || spilled)
    mehari_output_fresh_descriptor();
  mehari_may_have_spawned = spilled = false;
}

void mehari_stdout_begin(pTHX)
{
  mehari_stdout_aside = false;
  if (!layer_handle || PerlIOBase(layer_handle)->tab != &layer || IoOFP(stdout_io) != layer_handle)
    mehari_output_reset_handles(aTHX);
}
