/* Keeps the code of each application file. Mehari::PSGI loads the code.
 *
 * An application lives as long as its generation. A changed file is used after the next reload. If
 * the zygote has not loaded an application, each worker loads it at its first request for the
 * application. */
#include "psgi/psgi.h"

static HV *loaded; /* file => code */

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
  SV **found = loaded ? hv_fetch(loaded, file.at, file.length, 0) : NULL;
  if (found)
    return *found;
  SV *code = newSVsv(compile(aTHX_ file));
  if (!loaded)
    loaded = newHV();
  if (!hv_store(loaded, file.at, file.length, code, 0))
    sv_2mortal(code);
  return code;
}
