/* The writer of a streaming response, and the other C functions of Mehari::PSGI. */
#include "psgi/psgi.h"
#include "api/api.h"

CV *mehari_psgi_run;

XS_INTERNAL(run)
{
  dXSARGS;
  PERL_UNUSED_VAR(items);
  PERL_UNUSED_VAR(cv);
  mehari_psgi_serve_one(aTHX);
  XSRETURN_EMPTY;
}

/* load($file): returns the application of a file, which the first call compiles. */
XS_INTERNAL(load)
{
  dXSARGS;
  PERL_UNUSED_VAR(cv);
  if (items != 1)
    croak("Mehari::PSGI::load takes a file");
  mehari_text file;
  file.at = SvPV(ST(0), file.length);
  /* Loading the application may move perl's stack, so ST(0) is used only afterwards. */
  SV *code = mehari_psgi_app(aTHX_ file);
  ST(0) = code;
  XSRETURN(1);
}

/* serial(): returns the number of the current request. */
XS_INTERNAL(serial)
{
  dXSARGS;
  PERL_UNUSED_VAR(items);
  PERL_UNUSED_VAR(cv);
  EXTEND(SP, 1);
  ST(0) = sv_2mortal(newSVuv(mehari_psgi_serial));
  XSRETURN(1);
}

/* respond($serial, $response): sends the response. If the response has no body, returns the writer
 * for the body. */
XS_INTERNAL(respond)
{
  dXSARGS;
  PERL_UNUSED_VAR(cv);
  if (items != 2)
    croak("a responder takes a response");
  mehari_psgi_check(aTHX_ SvUV(ST(0)));
  SV *writer = mehari_psgi_delayed(aTHX_ ST(1));
  SPAGAIN;
  ST(0) = writer;
  XSRETURN(1);
}

/* put($part, $at_once): sends a part of the body, at once or together with later parts. */
XS_INTERNAL(put)
{
  dXSARGS;
  PERL_UNUSED_VAR(cv);
  if (items != 2)
    croak("Mehari::PSGI::put takes a part and whether to send it at once");
  mehari_psgi_put(aTHX_ ST(0), SvTRUE(ST(1)));
  XSRETURN_EMPTY;
}

static void check_writer(pTHX_ SV *self)
{
  if (!SvROK(self) || !sv_derived_from(self, "Mehari::PSGI::Writer"))
    croak("argument is not a writer");
  mehari_psgi_check(aTHX_ SvUV(SvRV(self)));
}

XS_INTERNAL(writer_write)
{
  dXSARGS;
  PERL_UNUSED_VAR(cv);
  if (items != 2)
    croak("`write` of a writer takes one part of the body");
  check_writer(aTHX_ ST(0));
  if (mehari_psgi_now != MEHARI_PSGI_STREAMING)
    croak("the writer is closed");
  mehari_psgi_put(aTHX_ ST(1), true);
  XSRETURN_EMPTY;
}

XS_INTERNAL(writer_close)
{
  dXSARGS;
  PERL_UNUSED_VAR(cv);
  if (items != 1)
    croak("`close` of a writer takes no argument");
  check_writer(aTHX_ ST(0));
  mehari_psgi_now = MEHARI_PSGI_ANSWERED;
  XSRETURN_EMPTY;
}

/* informational($status, \@headers): sends a 1xx response before the final response. */
XS_INTERNAL(informational)
{
  dXSARGS;
  PERL_UNUSED_VAR(cv);
  if (items < 1 || items > 2)
    croak("psgix.informational takes a status and an array reference of headers");
  mehari_psgi_interim(aTHX_ ST(0), items == 2 ? ST(1) : NULL);
  XSRETURN_EMPTY;
}

void mehari_psgi_boot(pTHX)
{
  static const mehari_sub subs[] = {
    {"Mehari::PSGI::run", run, 0}, {"Mehari::PSGI::load", load, 0}, {"Mehari::PSGI::serial", serial, 0},
    {"Mehari::PSGI::respond", respond, 0}, {"Mehari::PSGI::put", put, 0}, {"Mehari::PSGI::informational", informational, 0},
    {"Mehari::PSGI::Writer::write", writer_write, 0}, {"Mehari::PSGI::Writer::close", writer_close, 0},
  };
  MEHARI_DEFINE(subs);
  mehari_psgi_descriptors_boot(aTHX);
  mehari_psgi_run = get_cv("Mehari::PSGI::run", 0);
}
