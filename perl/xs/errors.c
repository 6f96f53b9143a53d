/* STDERR: lines for the error log, in the ring so that the front knows their request.
 * Descriptor 2 is a pipe to the front for everything that is not Perl's own printing.
 */
#include "mehari.h"
#include <fcntl.h>
#include <unistd.h>

static char line[8192];
static size_t filled;
static PerlIO *layer_handle;
static GV *stderr_gv;
static GP *stderr_gp;
static IO *stderr_io;
static int error_file = -1;
static bool descriptor_replaced, silent;
static char last[512]; /* the line put last */
static size_t last_length;

void mehari_errors_quiet(bool quiet) { silent = quiet; }
bool mehari_errors_are_quiet(void) { return silent; }

static void put_line(void)
{
  if (filled) {
    mehari_log(MEHARI_LOG_ERROR, line, filled);
    last_length = filled < sizeof last ? filled : sizeof last;
    memcpy(last, line, last_length);
  }
  if (memmem(line, filled, "will not stay shared", 20))
    mehari_logf(MEHARI_LOG_WARN, "hint: a named sub keeps the variable of the first request; make it `our`, pass it as an argument, or run the script on the rung `auto`");
  filled = 0;
}

/* `HASH(0x55d0c8a3f2a8)`, with or without a class before it. */
static bool is_reference(void)
{
  char text[sizeof last + 1], kind[32];
  unsigned long address;
  int end = 0;
  const char *equals = memchr(last, '=', last_length), *from = equals ? equals + 1 : last;
  size_t length = last + last_length - from;
  memcpy(text, from, length);
  text[length] = '\0';
  return sscanf(text, "%31[A-Z](0x%lx)%n", kind, &address, &end) == 2 && (size_t)end == length;
}

void mehari_errors_name_script(const char *file)
{
  put_line();
  if (last_length && !memmem(last, last_length, file, strlen(file)))
    mehari_logf(MEHARI_LOG_ERROR, "%s died with %.*s%s", file, (int)last_length, last, is_reference() ? ", a reference and no text" : "");
}

static IV layer_pushed(pTHX_ PerlIO *handle, const char *mode, SV *argument, PerlIO_funcs *table)
{
  IV code = PerlIOBase_pushed(aTHX_ handle, mode, argument, table);
  PerlIOBase(handle)->flags |= PERLIO_F_OPEN | PERLIO_F_CANWRITE;
  return code;
}

static IV layer_popped(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return 0; }
static IV layer_fileno(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return 2; }

static SSize_t layer_write(pTHX_ PerlIO *handle, const void *bytes, Size_t length)
{
  PERL_UNUSED_ARG(handle);
  if (silent)
    return length;
  if (!mehari_serving || mehari_in_child || descriptor_replaced)
    return write(2, bytes, length); /* C code writes here still when the script has its STDERR elsewhere */
  const char *next = bytes, *end = next + length;
  while (next < end) {
    const char *feed = memchr(next, '\n', end - next);
    size_t part = (feed ? feed : end) - next;
    if (part > sizeof line - filled)
      part = sizeof line - filled;
    memcpy(line + filled, next, part);
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

static IV layer_close(pTHX_ PerlIO *handle)
{
  PerlIOBase(handle)->flags &= ~(PERLIO_F_CANWRITE | PERLIO_F_CANREAD | PERLIO_F_OPEN);
  if (handle == layer_handle) {
    close(2);
    descriptor_replaced = true;
    layer_handle = NULL;
  }
  return 0;
}

static PerlIO *layer_dup(pTHX_ PerlIO *handle, PerlIO *old, CLONE_PARAMS *parameters, int flags)
{
  PERL_UNUSED_ARG(parameters);
  PERL_UNUSED_ARG(old);
  int file = flags & PERLIO_DUP_FD ? dup(2) : 2;
  return PerlIO_openn(aTHX_ ":unix:perlio", "w", file, 0, 0, handle, 0, NULL);
}

static PerlIO_funcs layer = {
  sizeof(PerlIO_funcs), "mehari_err", sizeof(struct _PerlIO) + sizeof(int), PERLIO_K_RAW,
  layer_pushed, layer_popped, NULL, PerlIOBase_binmode, NULL, layer_fileno, layer_dup,
  NULL, NULL, layer_write, NULL, NULL, layer_close, layer_flush, NULL,
  PerlIOBase_eof, PerlIOBase_error, PerlIOBase_clearerr, PerlIOBase_setlinebuf,
  NULL, NULL, NULL, NULL, NULL,
};

void mehari_errors_reopened(pTHX_ IO *io)
{
  if (io != stderr_io)
    return;
  descriptor_replaced = true;
  if (layer_handle && IoOFP(io) == layer_handle) {
    IoIFP(io) = IoOFP(io) = PerlIO_fdopen(2, "w");
    IoFLAGS(io) |= IOf_FLUSH;
  }
}

static void attach_layer(pTHX)
{
  PerlIO *handle = PerlIO_stderr();
  while (PerlIOValid(handle))
    PerlIO_pop(aTHX_ handle);
  layer_handle = PerlIO_push(aTHX_ handle, &layer, "w", NULL);
  IoIFP(stderr_io) = IoOFP(stderr_io) = layer_handle;
  IoTYPE(stderr_io) = IoTYPE_WRONLY;
}

void mehari_errors_open(pTHX)
{
  PerlIO_define_layer(aTHX_ &layer);
  stderr_gv = gv_fetchpvs("STDERR", GV_ADD, SVt_PVIO);
  stderr_io = (IO *)SvREFCNT_inc_NN((SV *)GvIOn(stderr_gv));
  stderr_gp = gp_ref(GvGP(stderr_gv));
  error_file = fcntl(2, F_DUPFD_CLOEXEC, 10);
  mehari_descriptor_claim(error_file);
  attach_layer(aTHX);
}

void mehari_errors_replaced(void) { descriptor_replaced = true; }

void mehari_errors_begin(pTHX) { PERL_UNUSED_CONTEXT; filled = last_length = 0; }

void mehari_errors_end(pTHX)
{
  put_line();
  if (mehari_perl_has_ended(aTHX))
    return;
  if (GvGP(stderr_gv) != stderr_gp) {
    gp_free(stderr_gv);
    GvGP_set(stderr_gv, gp_ref(stderr_gp));
  }
  if (GvIOp(stderr_gv) != stderr_io) {
    SvREFCNT_dec((SV *)GvIOp(stderr_gv));
    GvIOp(stderr_gv) = (IO *)SvREFCNT_inc_NN((SV *)stderr_io);
  }
  if (SvRMAGICAL((SV *)stderr_io))
    sv_unmagic((SV *)stderr_io, PERL_MAGIC_tiedscalar);
  if (IoOFP(stderr_io) != layer_handle || !layer_handle) {
    if (IoOFP(stderr_io) && IoOFP(stderr_io) != layer_handle)
      PerlIO_close(IoOFP(stderr_io));
    descriptor_replaced = true;
    if (layer_handle && PerlIOValid(layer_handle))
      IoIFP(stderr_io) = IoOFP(stderr_io) = layer_handle;
    else
      attach_layer(aTHX);
  }
  while (PerlIOBase(layer_handle)->tab != &layer)
    PerlIO_pop(aTHX_ layer_handle);
  if (descriptor_replaced) {
    dup2(error_file, 2);
    descriptor_replaced = false;
  }
}
