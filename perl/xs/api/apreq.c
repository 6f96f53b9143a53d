/* Apache2::Request as in libapreq2: parameters of the query string and of the body, uploads.
 *
 * The data are parsed at the first access. The parsed data belong to the request, and all objects
 * share the data. */
#include "api/form.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include "process/process.h"
#include "request/record.h"
#include <sys/mman.h>


typedef struct {
  bool is_read;
  int status;
  mehari_table *table;
  SV *object; /* the table, as Perl code sees it */
} source;
static struct {
  source args, body;
  mehari_uploads uploads;
  UV body_limit;
  bool is_limited, refuses_uploads;
  SV *instance;
} asked;

static void forget_source(pTHX_ source *this)
{
  SvREFCNT_dec(this->object);
  mehari_table_release(this->table);
  *this = (source){false, 0, NULL, NULL};
}

void mehari_form_forget(pTHX)
{
  if (asked.args.is_read)
    forget_source(aTHX_ &asked.args);
  if (asked.body.is_read)
    forget_source(aTHX_ &asked.body);
  if (asked.uploads.count)
    mehari_uploads_free(&asked.uploads);
  if (asked.instance) {
    SvREFCNT_dec(asked.instance);
    asked.instance = NULL;
  }
  asked.is_limited = asked.refuses_uploads = false;
}

/* ---- reading ---- */

static void read_args(void)
{
  if (asked.args.is_read)
    return;
  asked.args.is_read = true;
  asked.args.table = mehari_table_new();
  mehari_text query = mehari_request_text(MEHARI_TEXT_QUERY);
  asked.args.status = query.length ? mehari_form_urlencoded(asked.args.table, query) : MEHARI_FORM_NO_DATA;
}

static mehari_text field(const char *name)
{
  STRLEN length = strlen(name);
  for (int i = 0; i < mehari_now.frame->field_count; i++) {
    mehari_text each = mehari_span_text(mehari_now.fields[i].name);
    if (each.length == length && !strncasecmp(each.at, name, length))
      return mehari_span_text(mehari_now.fields[i].value);
  }
  return (mehari_text){"", 0};
}

static bool starts_with(mehari_text text, const char *word)
{
  STRLEN length = strlen(word);
  return text.length >= length && !strncasecmp(text.at, word, length) && (text.length == length || !isWORDCHAR_A(text.at[length]));
}

static int parse_body(void)
{
  mehari_text type = field("Content-Type"), boundary;
  mehari_text body = {mehari_now.body, mehari_now.body_length};
  if (!body.length)
    return MEHARI_FORM_NO_DATA;
  if (asked.is_limited && body.length > asked.body_limit)
    return MEHARI_FORM_OVER_LIMIT;
  if (starts_with(type, "application/x-www-form-urlencoded"))
    return mehari_form_urlencoded(asked.body.table, body);
  if (!starts_with(type, "multipart/form-data"))
    return MEHARI_FORM_NO_PARSER;
  if (!mehari_form_attribute(type, "boundary", &boundary))
    return MEHARI_FORM_NO_BOUNDARY;
  int status = mehari_form_multipart(asked.body.table, &asked.uploads, body, boundary);
  if (asked.refuses_uploads && asked.uploads.count) {
    mehari_uploads_free(&asked.uploads);
    return MEHARI_FORM_UPLOADS_DISABLED;
  }
  return status;
}

static void read_body(void)
{
  if (asked.body.is_read)
    return;
  asked.body.is_read = true;
  asked.body.table = mehari_table_new();
  asked.body.status = parse_body();
}

/* Dies with an APR::Request::Error if the form is broken. A missing form is no error. */
static void demand(pTHX_ int status, const char *function)
{
  if (status == MEHARI_FORM_OK || status == MEHARI_FORM_NO_DATA || status == MEHARI_FORM_NO_PARSER)
    return;
  dSP;
  PUSHMARK(SP);
  mXPUSHi(status);
  mXPUSHp(function, strlen(function));
  PUTBACK;
  call_pv("APR::Request::Error::raise", G_VOID | G_DISCARD);
}

static void ask_for_status(pTHX_ void *argument)
{
  int *status = argument;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  mXPUSHs(newSVsv(ERRSV));
  PUTBACK;
  int count = call_method("http_status", G_SCALAR | G_EVAL | G_KEEPERR);
  SPAGAIN;
  if (count == 1 && SvIOK(TOPs))
    *status = SvIV(TOPs);
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
}

int mehari_form_error_status(pTHX)
{
  int status = 500;
  if (SvROK(ERRSV) && sv_isobject(ERRSV) && sv_derived_from(ERRSV, "APR::Request::Error"))
    mehari_guard(aTHX_ ask_for_status, &status, NULL);
  return status;
}

/* ---- asking ---- */

enum { ARGS, BODY, PARAM };

static SV *table_object(pTHX_ mehari_table *table)
{
  SV *object = mehari_table_object(aTHX_ table);
  return sv_bless(object, gv_stashpvs("APR::Request::Param::Table", GV_ADD));
}

static SV *source_object(pTHX_ source *this)
{
  if (!this->object)
    this->object = table_object(aTHX_ this->table);
  return newSVsv(this->object);
}

/* Stores the tables that a query asks for in `sources`, and returns their number. */
static int gather(pTHX_ int which, source **sources)
{
  int count = 0;
  if (which != BODY) {
    read_args();
    sources[count++] = &asked.args;
  }
  if (which != ARGS) {
    read_body();
    sources[count++] = &asked.body;
  }
  for (int i = 0; i < count; i++)
    demand(aTHX_ sources[i]->status, which == ARGS ? "args" : which == BODY ? "body" : "param");
  return count;
}

static SV *joined(pTHX_ source **sources, int count)
{
  if (count == 1)
    return source_object(aTHX_ sources[0]);
  mehari_table *both = mehari_table_new();
  for (int i = 0; i < count; i++)
    for (int j = 0; j < sources[i]->table->count; j++) {
      const mehari_entry *entry = &sources[i]->table->entries[j];
      mehari_table_add(both, (mehari_text){entry->name, entry->name_length}, (mehari_text){entry->value, entry->value_length});
    }
  SV *object = table_object(aTHX_ both);
  mehari_table_release(both);
  return object;
}

/* Pushes each name once, in order. Spellings that differ only in case are one name. */
static void push_names(pTHX_ source **sources, int count)
{
  dSP;
  HV *seen = (HV *)sv_2mortal((SV *)newHV());
  for (int i = 0; i < count; i++)
    for (int j = 0; j < sources[i]->table->count; j++) {
      const mehari_entry *entry = &sources[i]->table->entries[j];
      SV *folded = newSVpvn_flags(entry->name, entry->name_length, SVs_TEMP);
      for (char *at = SvPVX(folded); at < SvEND(folded); at++)
        *at = toLOWER_A(*at);
      if (hv_exists_ent(seen, folded, 0))
        continue;
      (void)hv_store_ent(seen, folded, newSV(0), 0);
      mXPUSHp(entry->name, entry->name_length);
    }
  PUTBACK;
}

/* Pushes all values of a name, or only the first. */
static void push_values(pTHX_ source **sources, int count, mehari_text name, bool all)
{
  dSP;
  bool found = false;
  for (int i = 0; i < count && (all || !found); i++)
    for (int j = 0; j < sources[i]->table->count && (all || !found); j++) {
      const mehari_entry *entry = &sources[i]->table->entries[j];
      if (entry->name_length != name.length || strncasecmp(entry->name, name.at, name.length))
        continue;
      mXPUSHp(entry->value, entry->value_length);
      found = true;
    }
  if (!all && !found)
    XPUSHs(&PL_sv_undef);
  PUTBACK;
}

/* args, body, param: return the values of a name. Without a name they return all names, or in
 * scalar context the table. */
XS_INTERNAL(ask)
{
  dXSARGS;
  dXSI32;
  if (items < 1 || items > 2)
    croak_xs_usage(cv, "request, [name]");
  MEHARI_CHECK(ST(0));
  bool list = GIMME_V == G_LIST;
  SV *name = items == 2 ? ST(1) : NULL;
  source *sources[2];
  int count = gather(aTHX_ ix, sources);
  SP -= items;
  PUTBACK;
  if (name) {
    push_values(aTHX_ sources, count, mehari_sv_text(aTHX_ name), list);
  } else if (list) {
    push_names(aTHX_ sources, count);
  } else {
    XPUSHs(sv_2mortal(joined(aTHX_ sources, count)));
    PUTBACK;
  }
}

/* args_status, body_status: return 0, or the number of the error. */
XS_INTERNAL(status)
{
  dXSARGS;
  dXSI32;
  if (items != 1)
    croak_xs_usage(cv, "request");
  MEHARI_CHECK(ST(0));
  if (ix == ARGS)
    read_args();
  else
    read_body();
  XSRETURN_IV(ix == ARGS ? asked.args.status : asked.body.status);
}

/* _table($which): returns the table itself, not a copy, even if its status is an error. */
XS_INTERNAL(live_table)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "request, which");
  MEHARI_CHECK(ST(0));
  read_args();
  read_body();
  ST(0) = sv_2mortal(source_object(aTHX_ SvIV(ST(1)) == ARGS ? &asked.args : &asked.body));
  XSRETURN(1);
}

/* _limit($bytes): sets the longest body; undef: no limit. _refuse_uploads($bool): sets whether
 * uploads are refused. */
XS_INTERNAL(limit)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "request, bytes");
  MEHARI_CHECK(ST(0));
  SvGETMAGIC(ST(1));
  asked.is_limited = SvOK(ST(1)) && SvIV(ST(1)) >= 0;
  asked.body_limit = asked.is_limited ? SvUV(ST(1)) : 0;
  XSRETURN_EMPTY;
}

XS_INTERNAL(refuse_uploads)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "request, refuse");
  MEHARI_CHECK(ST(0));
  asked.refuses_uploads = SvTRUE(ST(1));
  XSRETURN_EMPTY;
}

/* _new($class, $r): returns a new object that wraps `$r`. */
XS_INTERNAL(make)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "class, r");
  MEHARI_CHECK(ST(1));
  HV *self = newHV();
  (void)hv_stores(self, "r", newSVsv(ST(1)));
  ST(0) = sv_2mortal(sv_bless(newRV_noinc((SV *)self), SvROK(ST(0)) ? SvSTASH(SvRV(ST(0))) : gv_stashsv(ST(0), GV_ADD)));
  XSRETURN(1);
}

/* _instance([$object]): returns the object of this request. If the request has none yet, the
 * argument becomes its object. */
XS_INTERNAL(instance)
{
  dXSARGS;
  if (items > 1)
    croak_xs_usage(cv, "[object]");
  if (items && !asked.instance && mehari_serving)
    asked.instance = newSVsv(ST(0));
  EXTEND(SP, 1);
  ST(0) = asked.instance ? sv_mortalcopy(asked.instance) : &PL_sv_undef;
  XSRETURN(1);
}

/* ---- uploads ---- */

/* _uploads: returns for each upload the name, file name, table of header lines, offset and
 * length. */
XS_INTERNAL(uploads)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "request");
  MEHARI_CHECK(ST(0));
  read_body();
  demand(aTHX_ asked.body.status, "upload");
  SP -= items;
  EXTEND(SP, asked.uploads.count);
  for (int i = 0; i < asked.uploads.count; i++) {
    const mehari_upload *upload = &asked.uploads.at[i];
    AV *parts = newAV();
    av_push(parts, newSVpvn(upload->name, upload->name_length));
    av_push(parts, newSVpvn(upload->file_name, upload->file_name_length));
    av_push(parts, mehari_table_object(aTHX_ upload->info));
    av_push(parts, newSVuv(upload->offset));
    av_push(parts, newSVuv(upload->length));
    mPUSHs(newRV_noinc((SV *)parts));
  }
  PUTBACK;
}

/* _body($offset, $length): returns bytes of the body. */
XS_INTERNAL(body_bytes)
{
  dXSARGS;
  if (items != 3)
    croak_xs_usage(cv, "request, offset, length");
  MEHARI_CHECK(ST(0));
  size_t offset = SvUV(ST(1)), length = SvUV(ST(2));
  if (offset > mehari_now.body_length || length > mehari_now.body_length - offset)
    croak("the request's body has no %zu bytes at %zu", length, offset);
  ST(0) = newSVpvn_flags(mehari_now.body + offset, length, SVs_TEMP);
  XSRETURN(1);
}

/* _memory_file($name): returns the descriptor of a new file in memory, or -1. */
XS_INTERNAL(memory_file)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "name");
  mehari_touched |= MEHARI_TOUCHED_FILES;
  XSRETURN_IV(memfd_create(SvPV_nolen(ST(0)), MFD_CLOEXEC));
}

void mehari_form_boot(pTHX)
{
  static const mehari_sub subs[] = {
    {"APR::Request::args", ask, ARGS}, {"APR::Request::body", ask, BODY}, {"APR::Request::param", ask, PARAM},
    {"APR::Request::args_status", status, ARGS}, {"APR::Request::body_status", status, BODY}, {"APR::Request::_table", live_table, 0},
    {"APR::Request::_limit", limit, 0}, {"APR::Request::_refuse_uploads", refuse_uploads, 0}, {"APR::Request::_new", make, 0},
    {"APR::Request::_instance", instance, 0}, {"APR::Request::_uploads", uploads, 0}, {"APR::Request::_body", body_bytes, 0},
    {"APR::Request::_memory_file", memory_file, 0},
  };
  MEHARI_DEFINE(subs);
}
