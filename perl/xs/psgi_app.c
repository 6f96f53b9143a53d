/* Applications: the code of each file, until the file changes. Loading is Mehari::PSGI's. */
#include "psgi.h"
#include <errno.h>
#include <sys/stat.h>

typedef struct {
  SV *code;
  uint64_t made_from; /* the file's mark */
} app;

static HV *loaded; /* file => app * */

static app *find(pTHX_ mehari_text file)
{
  SV **found = loaded ? hv_fetch(loaded, file.at, file.length, 0) : NULL;
  return found ? INT2PTR(app *, SvIVX(*found)) : NULL;
}

static app *entry(pTHX_ mehari_text file)
{
  app *this = find(aTHX_ file);
  if (this)
    return this;
  if (!loaded)
    loaded = newHV();
  Newxz(this, 1, app);
  (void)hv_store(loaded, file.at, file.length, newSViv(PTR2IV(this)), 0);
  return this;
}

static SV *compile(pTHX_ mehari_text file)
{
  load_module(PERL_LOADMOD_NOIMPORT, newSVpvs("Mehari::PSGI"), NULL);
  dSP;
  PUSHMARK(SP);
  mXPUSHp(file.at, file.length);
  PUTBACK;
  int count = call_pv("Mehari::PSGI::compile", G_SCALAR);
  SPAGAIN;
  SV *code = count == 1 ? POPs : &PL_sv_undef;
  PUTBACK;
  return code;
}

SV *mehari_psgi_app(pTHX_ mehari_text file)
{
  char name[4097];
  struct stat now;
  if (!MEHARI_COPY(name, file))
    croak("the application's file name is longer than %d bytes\n", (int)sizeof name - 1);
  app *this = find(aTHX_ file);
  if (this && mehari_front_saw(file, this->made_from))
    return this->code;
  if (stat(name, &now) < 0)
    croak("the application %s: %s\n", name, strerror(errno));
  if (this && this->made_from == mehari_mark(&now))
    return this->code;
  SV *code = compile(aTHX_ file);
  this = entry(aTHX_ file);
  SvREFCNT_dec(this->code);
  this->code = newSVsv(code);
  this->made_from = mehari_mark(&now);
  return this->code;
}
