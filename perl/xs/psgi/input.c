/* `psgi.input`: a real handle, an IO::File, that reads the request's body in place.
 *
 * If the application does not keep the handle, the next request uses the same handle. A kept handle
 * is at end of file after its request. */
#include "psgi/psgi.h"
#include "mailbox/mailbox.h"
#include "stdio/standard.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
  struct _PerlIO base;
  UV serial; /* the serial number of the request whose body is read */
  size_t position;
} reader;

static GV *handle_gv; /* the handle for the next request, if it was not kept */
static HV *class;

static reader *reader_of(PerlIO *handle) { return (reader *)PerlIOBase(handle); }

static size_t length_of(const reader *this)
{
  return mehari_serving && this->serial == mehari_psgi_serial ? mehari_now.body_length : 0;
}

static size_t rest_of(const reader *this)
{
  size_t length = length_of(this);
  return this->position < length ? length - this->position : 0;
}

static IV layer_pushed(pTHX_ PerlIO *handle, const char *mode, SV *argument, PerlIO_funcs *table)
{
  IV code = PerlIOBase_pushed(aTHX_ handle, mode, argument, table);
  PerlIOBase(handle)->flags |= PERLIO_F_OPEN | PERLIO_F_CANREAD | PERLIO_F_FASTGETS;
  return code;
}

static IV layer_popped(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return 0; }
static IV layer_fileno(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return -1; }
static IV layer_flush(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return 0; }

static SSize_t layer_read(pTHX_ PerlIO *handle, void *into, Size_t length)
{
  reader *this = reader_of(handle);
  if (length > rest_of(this))
    length = rest_of(this);
  if (length)
    mehari_bytes(into, mehari_now.body + this->position, length);
  else
    PerlIOBase(handle)->flags |= PERLIO_F_EOF;
  this->position += length;
  return length;
}

static SSize_t layer_unread(pTHX_ PerlIO *handle, const void *bytes, Size_t length)
{
  reader *this = reader_of(handle);
  bool are_before = length <= this->position && this->position <= length_of(this) && memEQ(mehari_now.body + this->position - length, bytes, length);
  if (!are_before)
    return PerlIOBase_unread(aTHX_ handle, bytes, length);
  this->position -= length;
  PerlIOBase(handle)->flags &= ~PERLIO_F_EOF;
  return length;
}

static IV layer_fill(pTHX_ PerlIO *handle)
{
  if (rest_of(reader_of(handle)))
    return 0;
  PerlIOBase(handle)->flags |= PERLIO_F_EOF;
  return -1;
}

static IV layer_seek(pTHX_ PerlIO *handle, Off_t offset, int whence)
{
  reader *this = reader_of(handle);
  Off_t target = mehari_seek_position(offset, whence, this->position, length_of(this));
  if (target < 0) {
    SETERRNO(EINVAL, LIB_INVARG);
    return -1;
  }
  this->position = target;
  PerlIOBase(handle)->flags &= ~PERLIO_F_EOF;
  return 0;
}

static Off_t layer_tell(pTHX_ PerlIO *handle) { return reader_of(handle)->position; }
static IV layer_eof(pTHX_ PerlIO *handle) { return !rest_of(reader_of(handle)); }

static IV layer_close(pTHX_ PerlIO *handle)
{
  PerlIOBase(handle)->flags &= ~(PERLIO_F_CANREAD | PERLIO_F_OPEN);
  return 0;
}

static STDCHAR *layer_base(pTHX_ PerlIO *handle) { return length_of(reader_of(handle)) ? (STDCHAR *)mehari_now.body : NULL; }
static Size_t layer_size(pTHX_ PerlIO *handle) { return length_of(reader_of(handle)); }

static STDCHAR *layer_ptr(pTHX_ PerlIO *handle)
{
  return rest_of(reader_of(handle)) ? (STDCHAR *)mehari_now.body + reader_of(handle)->position : NULL;
}

static SSize_t layer_count(pTHX_ PerlIO *handle) { return rest_of(reader_of(handle)); }

static void layer_set(pTHX_ PerlIO *handle, STDCHAR *at, SSize_t count)
{
  PERL_UNUSED_ARG(at);
  reader *this = reader_of(handle);
  this->position = length_of(this) - count;
}

/* Returns a descriptor of a file with the body. The file may outlive the request. */
static int file_of(const reader *this)
{
  char path[32];
  MEHARI_FORMAT(path, "/proc/self/fd/%d", mehari_now.body_file);
  int file = mehari_now.body_file >= 0 ? open(path, O_RDONLY | O_CLOEXEC) : memfd_create("body", MFD_CLOEXEC);
  if (file >= 0 && mehari_now.body_file < 0)
    (void)!write(file, mehari_now.body, length_of(this));
  if (file >= 0)
    lseek(file, this->position, SEEK_SET);
  return file;
}

/* Duplicates the handle: `open my $copy, '<&', $env->{'psgi.input'}`, or for a new thread. */
static PerlIO *layer_dup(pTHX_ PerlIO *handle, PerlIO *old, CLONE_PARAMS *parameters, int flags)
{
  PERL_UNUSED_ARG(parameters);
  if (flags & PERLIO_DUP_CLONE && length_of(reader_of(old)))
    return PerlIO_openn(aTHX_ ":unix:perlio", "r", file_of(reader_of(old)), 0, 0, handle, 0, NULL);
  PerlIO *copy = PerlIO_push(aTHX_ handle, &mehari_psgi_input_layer, "r", NULL);
  if (copy) {
    reader_of(copy)->serial = reader_of(old)->serial;
    reader_of(copy)->position = reader_of(old)->position;
  }
  return copy;
}

PerlIO_funcs mehari_psgi_input_layer = {
  sizeof(PerlIO_funcs), "mehari_body", sizeof(reader), PERLIO_K_RAW | PERLIO_K_FASTGETS,
  layer_pushed, layer_popped, NULL, PerlIOBase_binmode, NULL, layer_fileno, layer_dup,
  layer_read, layer_unread, NULL, layer_seek, layer_tell, layer_close, layer_flush, layer_fill,
  layer_eof, PerlIOBase_error, PerlIOBase_clearerr, PerlIOBase_setlinebuf,
  layer_base, layer_size, layer_ptr, layer_count, layer_set,
};

/* ---- the handle ---- */

static bool is_as_we_made_it(pTHX)
{
  IO *io = GvIOp(handle_gv);
  PerlIO *handle = io ? IoIFP(io) : NULL;
  return SvREFCNT((SV *)handle_gv) == 1 && GvREFCNT(handle_gv) == 1 && !SvMAGIC((SV *)handle_gv) && SvSTASH((SV *)handle_gv) == class &&
         !GvHV(handle_gv) && !GvAV(handle_gv) && !GvCV(handle_gv) && io && SvREFCNT((SV *)io) == 1 && !SvMAGIC((SV *)io) &&
         PerlIOValid(handle) && PerlIOBase(handle)->tab == &mehari_psgi_input_layer;
}

static void make(pTHX)
{
  handle_gv = (GV *)newSV(0);
  gv_init_pvn(handle_gv, class, "psgi.input", 10, 0);
  PerlIO *handle = PerlIO_push(aTHX_ PerlIO_allocate(aTHX), &mehari_psgi_input_layer, "r", NULL);
  IO *io = GvIOn(handle_gv);
  IoIFP(io) = handle;
  IoTYPE(io) = IoTYPE_RDONLY;
  SvREFCNT_dec(sv_bless(newRV_inc((SV *)handle_gv), class));
}

SV *mehari_psgi_input(pTHX)
{
  if (!handle_gv)
    make(aTHX);
  IO *io = GvIOp(handle_gv);
  PerlIO *handle = IoIFP(io);
  reader_of(handle)->serial = mehari_psgi_serial;
  reader_of(handle)->position = 0;
  PerlIOBase(handle)->flags &= ~(PERLIO_F_EOF | PERLIO_F_ERROR | PERLIO_F_UTF8);
  IoLINES(io) = 0;
  return newRV_inc((SV *)handle_gv);
}

void mehari_psgi_input_end(pTHX)
{
  if (!handle_gv || is_as_we_made_it(aTHX))
    return;
  SvREFCNT_dec((SV *)handle_gv);
  handle_gv = NULL;
}

void mehari_psgi_input_open(pTHX)
{
  PerlIO_define_layer(aTHX_ &mehari_psgi_input_layer);
  class = gv_stashpvs("IO::File", GV_ADD);
}
