/* Does the work of CGI.pm's parse_params in C: the same parameters for the same query, at a
 * thirtieth of the cost.
 *
 * Mehari::CGI installs this sub if both return the same parameters. Special cases (a class that
 * adds parameters, characters, %u escapes, tainting) still use CGI.pm's own sub. */
#include "script/script.h"
#include "interpreter/interpreter.h"

enum { PARSE, ADD, UNESCAPE, OWN };
static const char *const names[OWN] = {"CGI::parse_params", "CGI::add_parameter", "CGI::unescape"};
/* CGI.pm's own subs; in a thread's interpreter, @Mehari::CGI::own has copies of them. */
static CV *owned[OWN];

static CV *own(pTHX_ int which)
{
  if (!mehari_in_thread(aTHX))
    return owned[which];
  SV **copy = av_fetch(get_av("Mehari::CGI::own", GV_ADD), which, 0);
  return copy && SvROK(*copy) ? (CV *)SvRV(*copy) : NULL;
}

static bool is_method(pTHX_ HV *class, const char *name, CV *expected)
{
  GV *found = gv_fetchmethod_autoload(class, name, FALSE);
  return found && isGV(found) && GvCV(found) == expected;
}

/* Returns an element that is a reference to a plain array or hash. A missing element is made. NULL:
 * the element is another value. */
static SV *container(pTHX_ HV *self, const char *name, STRLEN length, svtype type)
{
  SV **entry = hv_fetch(self, name, length, 1);
  if (!entry || SvMAGICAL(*entry))
    return NULL;
  if (!SvOK(*entry))
    sv_setsv(*entry, sv_2mortal(newRV_noinc(newSV_type(type))));
  SV *held = SvROK(*entry) ? SvRV(*entry) : NULL;
  return held && SvTYPE(held) == type && !SvMAGICAL(held) && !SvOBJECT(held) ? held : NULL;
}

static int hex_value(char digit)
{
  return digit >= '0' && digit <= '9' ? digit - '0' : (digit | 32) >= 'a' && (digit | 32) <= 'f' ? (digit | 32) - 'a' + 10 : -1;
}

static SV *unescaped(pTHX_ const char *at, const char *end)
{
  SV *text = newSV(end - at + 1);
  char *into = SvPVX(text);
  while (at < end) {
    int high = *at == '%' && end - at > 2 ? hex_value(at[1]) : -1;
    int low = high >= 0 ? hex_value(at[2]) : -1;
    if (low >= 0) {
      *into++ = high * 16 + low;
      at += 3;
    } else {
      *into++ = *at == '+' ? ' ' : *at;
      at++;
    }
  }
  *into = '\0';
  SvCUR_set(text, into - SvPVX(text));
  SvPOK_only(text);
  return text;
}

static void add(pTHX_ AV *order, HV *values, SV *name, SV *value)
{
  HE *entry = hv_fetch_ent(values, name, 1, 0);
  SV *list = entry ? HeVAL(entry) : NULL;
  if (list && !SvOK(list)) {
    av_push(order, newSVsv(name));
    sv_setsv(list, sv_2mortal(newRV_noinc((SV *)newAV())));
  }
  if (list && SvROK(list) && SvTYPE(SvRV(list)) == SVt_PVAV)
    av_push((AV *)SvRV(list), value);
  else
    SvREFCNT_dec(value);
}

/* Takes one piece between separators. An empty piece is skipped, as perl's `split '=', $piece,
 * 2` returns nothing for it. */
static void take(pTHX_ AV *order, HV *values, const char *at, const char *end, bool skips_undefined)
{
  if (at == end)
    return;
  const char *equals = memchr(at, '=', end - at);
  if (!equals && skips_undefined)
    return;
  SV *name = sv_2mortal(unescaped(aTHX_ at, equals ? equals : end));
  add(aTHX_ order, values, name, equals ? unescaped(aTHX_ equals + 1, end) : newSVpvs(""));
}

static bool is_ordinary(pTHX_ SV *self, SV *query)
{
  if (!SvROK(self) || SvTYPE(SvRV(self)) != SVt_PVHV || !SvOBJECT(SvRV(self)) || SvMAGICAL(SvRV(self)) || TAINTING_get)
    return false;
  static const char character[] = "%u";
  if (!SvPOK(query) || SvUTF8(query) || SvGMAGICAL(query) || ninstr(SvPVX(query), SvEND(query), character, character + 2))
    return false;
  return get_cvs("CGI::unescape", 0) == own(aTHX_ UNESCAPE) && is_method(aTHX_ SvSTASH(SvRV(self)), "add_parameter", own(aTHX_ ADD));
}

static void parse(pTHX_ AV *order, HV *values, SV *query)
{
  const char *at = SvPVX(query), *end = at + SvCUR(query);
  bool skips_undefined = SvTRUE(get_sv("CGI::NO_UNDEF_PARAMS", GV_ADD));
  for (const char *here = at; here <= end; here++)
    if (here == end || *here == '&' || *here == ';') {
      take(aTHX_ order, values, at, here, skips_undefined);
      at = here + 1;
    }
}

XS(parse_params)
{
  dXSARGS;
  if (items == 2 && is_ordinary(aTHX_ ST(0), ST(1))) {
    HV *self = (HV *)SvRV(ST(0));
    AV *order = (AV *)container(aTHX_ self, ".parameters", 11, SVt_PVAV);
    HV *values = order ? (HV *)container(aTHX_ self, "param", 5, SVt_PVHV) : NULL;
    if (values) {
      parse(aTHX_ order, values, ST(1));
      XSRETURN_EMPTY;
    }
  }
  PUSHMARK(MARK);
  call_sv((SV *)own(aTHX_ PARSE), G_VOID | G_DISCARD);
  XSRETURN_EMPTY;
}

/* Remembers CGI.pm's current subs. */
XS(remember_own)
{
  dXSARGS;
  PERL_UNUSED_VAR(items);
  AV *list = get_av("Mehari::CGI::own", GV_ADD);
  for (int i = 0; i < OWN && !mehari_in_thread(aTHX); i++) {
    owned[i] = get_cv(names[i], 0);
    (void)av_store(list, i, owned[i] ? newRV_inc((SV *)owned[i]) : newSV(0));
  }
  XSRETURN_EMPTY;
}

void mehari_cgi_params_boot(pTHX)
{
  newXS("Mehari::CGI::parse_params", parse_params, __FILE__);
  newXS("Mehari::CGI::remember_own", remember_own, __FILE__);
}
