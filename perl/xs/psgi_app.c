/* Applications: the code of each file, until the file changes. Loading is Mehari::PSGI's. */
#include "psgi.h"
#include <errno.h>
#include <sys/stat.h>

typedef struct {
  SV *code;
  struct stat made_from;
} app;

static HV *loaded; /* file => app * */

static bool is_same(const struct stat *a, const struct stat *b)
{
  return a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
         a->st_size == b->st_size;
}

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
  if (file.length >= sizeof name)
    croak("the application's file name is longer than %d bytes\n", (int)sizeof name - 1);
  memcpy(name, file.at, file.length);
  name[file.length] = '\0';
  if (stat(name, &now) < 0)
    croak("the application %s: %s\n", name, strerror(errno));
  app *this = find(aTHX_ file);
  if (this && is_same(&this->made_from, &now))
    return this->code;
  SV *code = compile(aTHX_ file);
  this = entry(aTHX_ file);
  SvREFCNT_dec(this->code);
  this->code = newSVsv(code);
  this->made_from = now;
  return this->code;
}
