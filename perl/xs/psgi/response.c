/* Checks and writes an application's response: status, headers and body.
 *
 * Plain strings are written directly. Values that may run Perl or are not bytes (objects, ties,
 * characters) are copied first, so a body is either all bytes or refused before any part is
 * sent. */
#include "psgi/psgi.h"
#include "mailbox/mailbox.h"
#include "response/head.h"
#include "response/response.h"

static SV *element(pTHX_ AV *list, SSize_t at)
{
  if (!SvMAGICAL((SV *)list)) {
    SV *held = at <= AvFILLp(list) ? AvARRAY(list)[at] : NULL;
    return held ? held : &PL_sv_undef;
  }
  SV **found = av_fetch(list, at, 0);
  if (!found)
    return &PL_sv_undef;
  SvGETMAGIC(*found);
  return *found;
}

/* Describes the value that an application returned in place of the expected one. */
static const char *describe(pTHX_ SV *given)
{
  if (!SvOK(given))
    return "undef";
  SV *words = sv_newmortal();
  if (SvROK(given) && SvOBJECT(SvRV(given)))
    sv_setpvf(words, "an object of class %s", sv_reftype(SvRV(given), TRUE));
  else if (SvROK(given))
    sv_setpvf(words, "a reference to %s", sv_reftype(SvRV(given), FALSE));
  else {
    STRLEN length;
    const char *text = SvPV(given, length);
    sv_setpvf(words, "\"%.*s\"%s", (int)(length > 60 ? 60 : length), text, length > 60 ? "..." : "");
  }
  return SvPV_nolen(words);
}

/* Returns the bytes of a value. Dies if the value has characters above 255. */
static mehari_text bytes_of(pTHX_ SV *value, const char *where)
{
  mehari_text bytes = {"", 0};
  if (!SvOK(value))
    return bytes;
  bytes.at = SvPV(value, bytes.length);
  if (!SvUTF8(value))
    return bytes;
  SV *copy = newSVpvn_flags(bytes.at, bytes.length, SVf_UTF8 | SVs_TEMP);
  if (!sv_utf8_downgrade(copy, TRUE))
    croak("the application answered wide characters in %s; expected bytes: encode them first\n", where);
  bytes.at = SvPV(copy, bytes.length);
  return bytes;
}

static bool is_plain(SV *value)
{
  return (SvFLAGS(value) & (SVf_POK | SVf_ROK | SVf_UTF8 | SVs_GMG)) == SVf_POK;
}

/* ---- status and headers ---- */

static bool framed; /* whether the last headers frame the body */

static void take_status(pTHX_ SV *value)
{
  IV status = looks_like_number(value) ? SvIV(value) : 0;
  if (status < 200 || status > 599)
    croak("the application answered %s as its status; expected a number from 200 to 599\n", describe(aTHX_ value));
  mehari_response.status = status;
}

static AV *list_of(pTHX_ SV *value, const char *what)
{
  if (!SvROK(value) || SvTYPE(SvRV(value)) != SVt_PVAV)
    croak("the application answered %s as its %s; expected an array reference\n", describe(aTHX_ value), what);
  return (AV *)SvRV(value);
}

/* Whether a header frames the body. An application that frames its body knows the length. */
static bool is_framing(mehari_text name)
{
  return (name.length == 14 && !strncasecmp(name.at, "Content-Length", 14)) || (name.length == 17 && !strncasecmp(name.at, "Transfer-Encoding", 17));
}

static void take_headers(pTHX_ mehari_head *head, SV *value)
{
  framed = false;
  AV *list = list_of(aTHX_ value, "headers");
  SSize_t count = av_count(list);
  if (count % 2)
    croak("the application answered an odd number of header elements (%d); expected pairs of name and value\n", (int)count);
  for (SSize_t i = 0; i < count; i += 2) {
    mehari_text name = bytes_of(aTHX_ element(aTHX_ list, i), "the name of a header");
    mehari_text held = bytes_of(aTHX_ element(aTHX_ list, i + 1), "the value of a header");
    mehari_head_add(head, name.at, name.length, held.at, held.length);
    framed = framed || is_framing(name);
  }
}

/* Whether the status allows a body (RFC 9110 section 6.4.1). */
static bool may_have_body(void) { return mehari_response.status != 204 && mehari_response.status != 304; }

/* Whether the method is HEAD. The front then drops the body and checks its length. */
static bool is_head(void) { return mehari_now.frame->flags & MEHARI_FLAG_HEAD; }

/* ---- bodies ---- */

static AV *copied(pTHX_ AV *parts)
{
  AV *copy = (AV *)sv_2mortal((SV *)newAV());
  for (SSize_t i = 0; i <= av_top_index(parts); i++) {
    mehari_text bytes = bytes_of(aTHX_ element(aTHX_ parts, i), "its body");
    av_push(copy, newSVpvn(bytes.at, bytes.length));
  }
  return copy;
}

static bool all_plain(pTHX_ AV *parts)
{
  if (SvMAGICAL((SV *)parts))
    return false;
  for (SSize_t i = 0; i <= AvFILLp(parts); i++)
    if (!AvARRAY(parts)[i] || !is_plain(AvARRAY(parts)[i]))
      return false;
  return true;
}

/* Adds the length of a body that needs more than one record. Without a length the body would be
 * sent in chunks. */
static void add_length(size_t length)
{
  if (framed || length < MEHARI_RECORD_LIMIT / 2)
    return;
  char digits[24];
  STRLEN count = MEHARI_FORMAT(digits, "%zu", length);
  mehari_head_add(&mehari_response, "Content-Length", 14, digits, count);
}

static void write_parts(pTHX_ AV *parts)
{
  if (!all_plain(aTHX_ parts))
    parts = copied(aTHX_ parts);
  if (!may_have_body())
    return;
  size_t length = 0;
  for (SSize_t i = 0; i <= AvFILLp(parts); i++)
    length += SvCUR(AvARRAY(parts)[i]);
  add_length(length);
  for (SSize_t i = 0; i <= AvFILLp(parts); i++)
    mehari_output_write(SvPVX(AvARRAY(parts)[i]), SvCUR(AvARRAY(parts)[i]));
}

/* Sends a body from a handle, or from an object with getline. This is rare, so Perl code does
 * it. */
static void call_perl(pTHX_ const char *sub, SV *argument)
{
  dSP;
  PUSHMARK(SP);
  XPUSHs(argument);
  PUTBACK;
  call_pv(sub, G_VOID | G_DISCARD);
}

static void write_body(pTHX_ SV *body)
{
  if (SvROK(body) && SvTYPE(SvRV(body)) == SVt_PVAV && !SvOBJECT(SvRV(body)))
    write_parts(aTHX_ (AV *)SvRV(body));
  else if (SvROK(body))
    call_perl(aTHX_ may_have_body() && !is_head() ? "Mehari::PSGI::send" : "Mehari::PSGI::withhold", body);
  else
    croak("the application answered %s as its body; expected an array reference, a file handle or an object with getline\n", describe(aTHX_ body));
}

void mehari_psgi_put(pTHX_ SV *part, bool at_once)
{
  mehari_text bytes = bytes_of(aTHX_ part, "its body");
  /* A stream may have no end. A worker must not write a stream that nobody reads. */
  if (mehari_client_has_left())
    croak("the client has left");
  if (bytes.length && may_have_body() && !is_head())
    mehari_output_write(bytes.at, bytes.length);
  if (at_once)
    mehari_output_flush();
}

/* ---- the whole ---- */

static AV *triple(pTHX_ SV *response, SSize_t least)
{
  if (!SvROK(response) || SvTYPE(SvRV(response)) != SVt_PVAV)
    croak("the application answered %s; expected [status, headers, body]%s\n", describe(aTHX_ response), least == 3 ? " or a code reference" : "");
  AV *list = (AV *)SvRV(response);
  SSize_t count = av_count(list);
  if (count < least || count > 3)
    croak("the application answered an array of %d elements; expected [status, headers, body]\n", (int)count);
  mehari_head_clear(&mehari_response);
  take_status(aTHX_ element(aTHX_ list, 0));
  take_headers(aTHX_ &mehari_response, element(aTHX_ list, 1));
  return list;
}

static void answer(pTHX_ AV *list)
{
  write_body(aTHX_ element(aTHX_ list, 2));
  mehari_psgi_now = MEHARI_PSGI_ANSWERED;
}

void mehari_psgi_respond(pTHX_ SV *response)
{
  if (SvROK(response) && SvTYPE(SvRV(response)) == SVt_PVCV)
    call_perl(aTHX_ "Mehari::PSGI::delay", response);
  else
    answer(aTHX_ triple(aTHX_ response, 3));
}

SV *mehari_psgi_delayed(pTHX_ SV *response)
{
  AV *list = triple(aTHX_ response, 2);
  if (av_count(list) == 3) {
    answer(aTHX_ list);
    return &PL_sv_undef;
  }
  mehari_psgi_now = MEHARI_PSGI_STREAMING;
  SV *writer = sv_bless(newRV_noinc(newSVuv(mehari_psgi_serial)), gv_stashpvs("Mehari::PSGI::Writer", GV_ADD));
  return sv_2mortal(writer);
}

void mehari_psgi_interim(pTHX_ SV *status, SV *headers)
{
  static mehari_head head;
  IV number = looks_like_number(status) ? SvIV(status) : 0;
  if (number < 102 || number > 199)
    croak("psgix.informational was called with %s as its status; expected a number from 102 to 199", describe(aTHX_ status));
  if (!mehari_serving || mehari_in_child || mehari_psgi_now != MEHARI_PSGI_UNANSWERED)
    croak("psgix.informational was called after the response");
  mehari_head_clear(&head);
  if (headers)
    take_headers(aTHX_ &head, headers);
  if (head.refused)
    croak("psgix.informational was called with a header that must not be sent");
  if (head.length > MEHARI_RECORD_LIMIT)
    croak("psgix.informational was called with headers of more than %u bytes together", MEHARI_RECORD_LIMIT);
  mehari_text lines = {head.lines, head.length};
  mehari_ring_put(MEHARI_RECORD_INTERIM, number, &lines, 1);
  mehari_ring_publish();
}
