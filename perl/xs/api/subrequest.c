/* Apache2::SubRequest: looks up another path, runs it within this response, or redirects to it. */
#include "api/api.h"
#include "phases/phases.h"
#include "request/record.h"

static SV *object_of(pTHX_ mehari_rec *sub)
{
  SV *object = mehari_rec_object(aTHX_ sub);
  sv_bless(object, gv_stashpvs("Apache2::SubRequest", GV_ADD));
  return sv_mortalcopy(object);
}

/* Makes a full path from a path relative to the request's path, as Apache's ap_make_full_path
 * does. */
static SV *full_path(pTHX_ SV *base, SV *path)
{
  STRLEN length, base_length;
  const char *text = SvPV(path, length);
  if (length && *text == '/')
    return path;
  const char *from = base ? SvPV(base, base_length) : "/";
  const char *slash = strrchr(from, '/');
  SV *full = newSVpvn_flags(from, slash ? slash - from + 1 : 0, SVs_TEMP);
  sv_catpvn(full, text, length);
  return full;
}

/* Returns the target for a URI, which may be relative to the request's. A request line holds no
 * control characters, so they are encoded. */
static mehari_text target_of(pTHX_ mehari_rec *rec, SV *uri)
{
  mehari_text full = mehari_sv_text(aTHX_ full_path(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI), uri));
  SV *target = newSVpvs_flags("", SVs_TEMP);
  for (STRLEN i = 0; i < full.length; i++) {
    U8 byte = full.at[i];
    if (byte < 0x20 || byte == 0x7f)
      sv_catpvf(target, "%%%02X", byte);
    else
      sv_catpvn(target, (char *)&byte, 1);
  }
  return mehari_sv_text(aTHX_ target);
}

/* Returns a file's name in which each run of slashes is one slash. */
static SV *plain_name(pTHX_ SV *name)
{
  mehari_text text = mehari_sv_text(aTHX_ name);
  SV *plain = newSVpvs_flags("", SVs_TEMP);
  for (STRLEN i = 0; i < text.length; i++)
    if (text.at[i] != '/' || !i || text.at[i - 1] != '/')
      sv_catpvn(plain, text.at + i, 1);
  return plain;
}

/* Returns the sub-request for a file. As in Apache, a file beside the request's file has the URI
 * beside the request's URI. Another file has no URI, and only a location for all paths applies to
 * it. */
static mehari_rec *sub_of_file(pTHX_ mehari_rec *rec, SV *name)
{
  static const mehari_text method = {"GET", 3};
  mehari_text file = mehari_sv_text(aTHX_ plain_name(aTHX_ name)), own = mehari_text_of(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_FILENAME));
  const char *slash = memrchr(own.at, '/', own.length);
  STRLEN folder = slash ? slash - own.at + 1 : 0;
  bool is_beside = folder && file.length > folder && memEQ(file.at, own.at, folder) && !memchr(file.at + folder, '/', file.length - folder);
  if (is_beside) {
    SV *beside = full_path(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_URI), newSVpvn_flags(file.at + folder, file.length - folder, SVs_TEMP));
    return mehari_rec_sub(aTHX_ rec, mehari_sv_text(aTHX_ mehari_rec_target(aTHX_ beside, NULL)), &file, method);
  }
  mehari_rec *sub = mehari_rec_sub(aTHX_ rec, (mehari_text){"/", 1}, &file, method);
  if (sub)
    mehari_rec_set_text(aTHX_ sub, MEHARI_REC_URI, newSVpvs_flags("", SVs_TEMP));
  return sub;
}

enum { LOOKUP_URI, LOOKUP_METHOD_URI, LOOKUP_FILE };

/* Sends a sub-request's response through the main request's filters, from the named filter on. */
static void go_through(pTHX_ mehari_rec *sub, SV *filter)
{
  if (!sv_derived_from(filter, "Apache2::Filter"))
    croak("expected one of $r->output_filters, not `%s`", SvPV_nolen(filter));
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  XPUSHs(filter);
  PUTBACK;
  int count = call_method("place_number", G_SCALAR);
  SPAGAIN;
  SV *place = count ? POPs : &PL_sv_undef;
  sub->filtered_from = SvOK(place) ? SvIV(place) + 1 : 0;
  PUTBACK;
  FREETMPS;
  LEAVE;
}

XS_INTERNAL(lookup)
{
  dXSARGS;
  dXSI32;
  int needed = ix == LOOKUP_METHOD_URI ? 3 : 2;
  if (items < needed)
    croak_xs_usage(cv, ix == LOOKUP_METHOD_URI ? "r, method, uri" : ix == LOOKUP_FILE ? "r, file" : "r, uri");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0)), *sub;
  OP *here = PL_op;
  mehari_text method = ix == LOOKUP_METHOD_URI ? mehari_sv_text(aTHX_ ST(1)) : (mehari_text){"GET", 3};
  if (ix == LOOKUP_FILE)
    sub = sub_of_file(aTHX_ rec, full_path(aTHX_ mehari_rec_text(aTHX_ rec, MEHARI_REC_FILENAME), ST(1)));
  else
    sub = mehari_rec_sub(aTHX_ rec, target_of(aTHX_ rec, ST(needed - 1)), NULL, method);
  PL_op = here;
  if (!sub)
    croak("the server cannot resolve this path");
  if (items > needed)
    SvGETMAGIC(ST(needed));
  if (items > needed && SvOK(ST(needed)))
    go_through(aTHX_ sub, ST(needed));
  ST(0) = object_of(aTHX_ sub);
  XSRETURN(1);
}

XS_INTERNAL(run)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "subr");
  mehari_rec *sub = mehari_rec_of(aTHX_ ST(0));
  if (!sub->main)
    croak("only a sub-request can be run: see $r->lookup_uri");
  OP *here = PL_op; /* flushing leaves PL_op empty */
  int status = mehari_rec_run(aTHX_ sub);
  PL_op = here;
  XSRETURN_IV(status);
}

XS_INTERNAL(internal_redirect)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "r, uri");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  OP *here = PL_op;
  /* Within another response, and behind a head that was sent, only the body is wanted. */
  if (rec->main || mehari_output_sent()) {
    mehari_rec *sub = mehari_rec_sub(aTHX_ rec, target_of(aTHX_ rec, ST(1)), NULL, (mehari_text){"GET", 3});
    if (sub)
      mehari_rec_run(aTHX_ sub);
  } else
    mehari_rec_redirect(aTHX_ rec, target_of(aTHX_ rec, ST(1)));
  PL_op = here;
  XSRETURN_EMPTY;
}

/* $r->_become($sub): the request continues as the request that a sub-request has found. */
XS_INTERNAL(become)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "r, subr");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0)), *sub = mehari_rec_of(aTHX_ ST(1));
  OP *here = PL_op;
  bool is_found = mehari_rec_become(aTHX_ rec, sub);
  PL_op = here;
  if (!is_found)
    croak("the server cannot resolve this path");
  XSRETURN_EMPTY;
}

void mehari_subrequest_boot(pTHX)
{
  static const mehari_sub subs[] = {
    {"Apache2::RequestRec::lookup_uri", lookup, LOOKUP_URI}, {"Apache2::RequestRec::lookup_method_uri", lookup, LOOKUP_METHOD_URI},
    {"Apache2::RequestRec::lookup_file", lookup, LOOKUP_FILE}, {"Apache2::RequestRec::_become", become, 0}, {"Apache2::SubRequest::run", run, 0},
    {"Apache2::RequestRec::internal_redirect", internal_redirect, 0}, {"Apache2::RequestRec::internal_redirect_handler", internal_redirect, 0},
  };
  MEHARI_DEFINE(subs);
  av_push(get_av("Apache2::SubRequest::ISA", GV_ADD), newSVpvs("Apache2::RequestRec"));
}
