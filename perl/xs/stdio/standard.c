/* The common part of STDIN, STDOUT and STDERR. perl's own PerlIO handle gets Mehari's layer in
 * place of its layers, so that all code that uses the handle, C code too, reads and writes through
 * this layer. After a request this file restores the glob, the handle and the layers. */
#include "stdio/standard.h"
#include "script/script.h"
#include "interpreter/perl_internals.h"
#include "process/process.h"
#include <fcntl.h>
#include <unistd.h>

static mehari_standard *all[3];

static mehari_standard *of_handle(PerlIO *handle)
{
  for (int i = 0; i < 3; i++)
    if (all[i] && all[i]->layer == PerlIOBase(handle)->tab)
      return all[i];
  return NULL;
}

static bool reads(const mehari_standard *this) { return this->descriptor == 0; }

static PerlIO *current(const mehari_standard *this)
{
  return reads(this) ? IoIFP(this->io) : IoOFP(this->io);
}

static void give(const mehari_standard *this, PerlIO *handle)
{
  IoIFP(this->io) = handle;
  if (!reads(this))
    IoOFP(this->io) = handle;
}

static const char *mode(const mehari_standard *this) { return reads(this) ? "r" : "w"; }

static PerlIO *of_perl(pTHX_ const mehari_standard *this)
{
  return this->descriptor == 0 ? PerlIO_stdin() : this->descriptor == 1 ? PerlIO_stdout() : PerlIO_stderr();
}

static void take_layer_off(pTHX_ const mehari_standard *this, PerlIO *handle)
{
  if (!reads(this))
    PerlIO_flush(handle);
  PerlIO_pop(aTHX_ handle);
}

void mehari_standard_attach(pTHX_ mehari_standard *this)
{
  PerlIO *handle = of_perl(aTHX_ this);
  while (PerlIOValid(handle))
    take_layer_off(aTHX_ this, handle);
  this->handle = PerlIO_push(aTHX_ handle, this->layer, mode(this), NULL);
  give(this, this->handle);
  if (reads(this))
    IoOFP(this->io) = NULL;
  IoTYPE(this->io) = reads(this) ? IoTYPE_RDONLY : IoTYPE_WRONLY;
}

void mehari_standard_open(pTHX_ mehari_standard *this)
{
  all[this->descriptor] = this;
  PerlIO_define_layer(aTHX_ this->layer);
  this->gv = gv_fetchpv(this->name, GV_ADD, SVt_PVIO);
  this->io = (IO *)SvREFCNT_inc_NN((SV *)GvIOn(this->gv));
  this->gp = gp_ref(GvGP(this->gv));
}

static void restore_glob(pTHX_ const mehari_standard *this)
{
  if (GvGP(this->gv) != this->gp) {
    gp_free(this->gv);
    GvGP_set(this->gv, gp_ref(this->gp));
  }
  if (GvIOp(this->gv) != this->io) {
    SvREFCNT_dec((SV *)GvIOp(this->gv));
    GvIOp(this->gv) = (IO *)SvREFCNT_inc_NN((SV *)this->io);
  }
  if (SvRMAGICAL((SV *)this->io))
    sv_unmagic((SV *)this->io, PERL_MAGIC_tiedscalar);
}

#define USUAL_LINES 60 /* of a page of a format: perl's own number */

/* Forgets the script's formats for the handle. The globs of the formats belong to the script's
 * package, not to the handle. */
static void forget_formats(IO *io)
{
  bool has_none = !IoTOP_GV(io) && !IoFMT_GV(io) && !IoTOP_NAME(io) && !IoFMT_NAME(io);
  if (has_none && !IoPAGE(io) && !IoLINES_LEFT(io) && IoPAGE_LEN(io) == USUAL_LINES)
    return; /* writing would unshare the memory's page */
  IoTOP_GV(io) = IoFMT_GV(io) = NULL;
  Safefree(IoTOP_NAME(io));
  Safefree(IoFMT_NAME(io));
  IoTOP_NAME(io) = IoFMT_NAME(io) = NULL;
  IoPAGE(io) = IoLINES_LEFT(io) = 0;
  IoPAGE_LEN(io) = USUAL_LINES;
}

void mehari_standard_restore(pTHX_ mehari_standard *this)
{
  restore_glob(aTHX_ this);
  forget_formats(this->io);
  PerlIO *now = current(this);
  if (now != this->handle || !this->handle) {
    if (now && now != this->handle)
      PerlIO_close(now);
    this->replaced = true;
    if (this->handle && PerlIOValid(this->handle))
      give(this, this->handle);
    else
      mehari_standard_attach(aTHX_ this);
  }
  while (PerlIOBase(this->handle)->tab != this->layer)
    take_layer_off(aTHX_ this, this->handle);
}

/* Called after `open STDOUT, ...`. perl has kept the PerlIO handle and put the new file on the
 * handle's descriptor. The script now gets an ordinary handle for this file. */
void mehari_standard_reopened(pTHX_ mehari_standard *this, IO *io)
{
  if (io != this->io)
    return;
  this->replaced = true;
  mehari_touched |= MEHARI_TOUCHED_FILES;
  if (this->handle && current(this) == this->handle)
    give(this, PerlIO_fdopen(this->descriptor, mode(this)));
}

bool mehari_standard_is_elsewhere(pTHX_ const mehari_standard *this)
{
  return this->replaced && !mehari_perl_has_ended(aTHX) && current(this) != this->handle;
}

/* ---- the layers' common functions ---- */

IV mehari_standard_pushed(pTHX_ PerlIO *handle, const char *mode, SV *argument, PerlIO_funcs *table)
{
  IV code = PerlIOBase_pushed(aTHX_ handle, mode, argument, table);
  PerlIOBase(handle)->flags |= PERLIO_F_OPEN | (table->Read ? PERLIO_F_CANREAD | PERLIO_F_FASTGETS : PERLIO_F_CANWRITE);
  return code;
}

/* Keeps the layer by not returning 0. Below it there is no layer that `binmode STDOUT, ':pop'`
 * could uncover. */
IV mehari_standard_popped(pTHX_ PerlIO *handle)
{
  PERL_UNUSED_CONTEXT;
  const mehari_standard *this = of_handle(handle);
  return this && handle == this->handle;
}

IV mehari_standard_fileno(pTHX_ PerlIO *handle)
{
  PERL_UNUSED_CONTEXT;
  mehari_standard *this = of_handle(handle);
  return this ? this->descriptor : -1;
}

/* Whether `layer` is the place of a layer in perl's own handle. A script may have pushed layers of
 * its own onto ours. */
static bool has_layer(const mehari_standard *this, PerlIO *layer)
{
  PerlIO *at = this->handle;
  while (at && PerlIOValid(at) && at != layer)
    at = PerlIONext(at);
  return at == layer;
}

IV mehari_standard_close(pTHX_ PerlIO *handle)
{
  PERL_UNUSED_CONTEXT;
  mehari_standard *this = of_handle(handle);
  mehari_touched |= MEHARI_TOUCHED_FILES;
  PerlIOBase(handle)->flags &= ~(PERLIO_F_CANWRITE | PERLIO_F_CANREAD | PERLIO_F_OPEN);
  if (this && has_layer(this, handle)) {
    close(this->descriptor);
    this->replaced = true;
    this->handle = NULL;
  }
  return 0;
}

PerlIO *mehari_standard_dup(pTHX_ PerlIO *handle, PerlIO *old, CLONE_PARAMS *parameters, int flags)
{
  PERL_UNUSED_ARG(parameters);
  mehari_standard *this = of_handle(old);
  if (!this)
    return NULL;
  mehari_touched |= MEHARI_TOUCHED_FILES;
  /* A thread closes its handles when it ends, so it must have a descriptor of its own. */
  int file = flags & PERLIO_DUP_CLONE ? fcntl(this->descriptor, F_DUPFD_CLOEXEC, 3) : flags & PERLIO_DUP_FD ? dup(this->descriptor) : this->descriptor;
  return PerlIO_openn(aTHX_ ":unix:perlio", mode(this), file, 0, 0, handle, 0, NULL);
}
