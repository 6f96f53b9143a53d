/* Resets CGI.pm's package variables, which keep the parsed request and a script's page settings.
 * CGI.pm has a sub for this. The sub costs more than a small page, so it runs only after a request
 * that changed one of the variables. */
#include "script/script.h"
#include "interpreter/perl_internals.h"

/* Variables that a request or an import changes. $QUERY_CHARSET is set whenever a request was
 * parsed. */
static const char *const names[] = {
  "Q", "QUERY_CHARSET", "BEEN_THERE", "DEFAULT_DTD", "DTD_PUBLIC_IDENTIFIER", "XHTML", "NOSTICKY", "NPH", "DEBUG", "TABINDEX",
  "CLOSE_UPLOAD_FILES", "HEADERS_ONCE", "USE_PARAM_SEMICOLONS", "NO_UNDEF_PARAMS", "PARAM_UTF8", "PUTDATA_UPLOAD", "APPEND_QUERY_STRING",
};
static struct {
  GV *glob;
  SV *value; /* a copy of the variable, made after the sub has run */
} known[C_ARRAY_LENGTH(names)];

static bool is_same(pTHX_ SV *now, SV *before)
{
  if (SvGMAGICAL(now) || SvROK(now) != SvROK(before) || SvOK(now) != SvOK(before))
    return false;
  if (SvROK(now))
    return SvRV(now) == SvRV(before);
  if (SvIOK(now) && SvIOK(before))
    return SvIVX(now) == SvIVX(before);
  return !SvOK(now) || (SvPOK(now) && SvPOK(before) && sv_eq(now, before));
}

/* Whether the module's variables are known. Only the first is checked, because reloading the module
 * makes all globs again. */
static bool is_known(pTHX_ HV *package)
{
  SV **first = hv_fetchs(package, "Q", 0);
  return first && *first == (SV *)known[0].glob;
}

static bool is_unchanged(pTHX_ HV *package)
{
  if (!is_known(aTHX_ package))
    return false;
  for (size_t i = 0; i < C_ARRAY_LENGTH(names); i++)
    if (!is_same(aTHX_ GvSVn(known[i].glob), known[i].value))
      return false;
  return true;
}

static void remember(pTHX_ HV *package)
{
  for (size_t i = 0; i < C_ARRAY_LENGTH(names); i++) {
    SV **entry = hv_fetch(package, names[i], strlen(names[i]), 1);
    GV *glob = (GV *)*entry;
    if (!isGV(glob))
      gv_init_pvn(glob, package, names[i], strlen(names[i]), 0);
    SvREFCNT_inc_simple_void_NN((SV *)glob);
    SvREFCNT_dec((SV *)known[i].glob);
    SvREFCNT_dec(known[i].value);
    known[i].glob = glob;
    known[i].value = newSVsv(GvSVn(known[i].glob));
  }
}

/* Looks up the variables after CGI.pm was loaded or loaded again. */
static void install(pTHX)
{
  load_module(PERL_LOADMOD_NOIMPORT, newSVpvs("Mehari::CGI"), NULL);
  dSP;
  PUSHMARK(SP);
  call_pv("Mehari::CGI::install", G_VOID | G_DISCARD | G_EVAL);
}

void mehari_cgi_loaded(pTHX)
{
  HV *package = hv_existss(GvHVn(PL_incgv), "CGI.pm") ? gv_stashpvs("CGI", 0) : NULL;
  if (!package || is_known(aTHX_ package))
    return;
  remember(aTHX_ package);
  install(aTHX);
}

/* Tells CGI.pm that a script has no $r when it runs as a CGI program. CGI.pm may have seen
 * another %ENV when a start-up file loaded it. */
void mehari_cgi_outside_mod_perl(pTHX)
{
  SV *inside = get_sv("CGI::MOD_PERL", 0);
  if (inside && SvTRUE(inside))
    sv_setiv(inside, 0);
}

/* Lets CGI.pm compile what its requests would compile again in each new process. The numbers of the
 * string evals, which messages show, stay those of a process without this. */
void mehari_cgi_prepare(pTHX)
{
  U32 evals = mehari_evals(aTHX);
  if (!get_cvs("Mehari::CGI::prepare", 0))
    return;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  call_pv("Mehari::CGI::prepare", G_VOID | G_DISCARD | G_EVAL);
  FREETMPS;
  LEAVE;
  mehari_set_evals(aTHX_ evals);
}

void mehari_forget_cgi(pTHX)
{
  if (!hv_existss(GvHVn(PL_incgv), "CGI.pm"))
    return;
  CV *reset = get_cvs("CGI::initialize_globals", 0);
  HV *package = gv_stashpvs("CGI", 0);
  if (!reset || !package || is_unchanged(aTHX_ package))
    return;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  PUTBACK;
  call_sv((SV *)reset, G_VOID | G_DISCARD | G_EVAL);
  bool is_new = !is_known(aTHX_ package);
  remember(aTHX_ package);
  if (is_new)
    install(aTHX);
  FREETMPS;
  LEAVE;
}
