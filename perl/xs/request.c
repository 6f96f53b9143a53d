/* `$r`: the request as mod_perl's handlers know it, and the rung `handler`.
 *
 * The object is a reference to a number that names the request; used after its request it dies
 * rather than touch another's.
 */
#include "mehari.h"

static SV *object;      /* the one `$r` of the request, a reference */
static UV serial;
static HV *request_stash;
static struct {
  SV *content_type;
  HV *headers_in, *headers_out, *err_headers_out, *notes; /* held as references to tables once asked for */
  int status;
} now;

void mehari_request_boot(pTHX)
{
  request_stash = gv_stashpvs("Apache2::RequestRec", GV_ADD);
}

SV *mehari_request_object(pTHX)
{
  if (!object)
    object = sv_bless(newRV_noinc(newSVuv(++serial)), request_stash);
  return object;
}

static void forget(pTHX_ HV **table)
{
  SvREFCNT_dec((SV *)*table);
  *table = NULL;
}

void mehari_request_drop(pTHX)
{
  /* One nobody kept serves again: its number is the only thing in it. */
  if (object && (SvREFCNT(object) > 1 || SvREFCNT(SvRV(object)) > 1)) {
    SvREFCNT_dec(object);
    object = NULL;
  } else if (object)
    sv_setuv(SvRV(object), ++serial);
  if (now.content_type) {
    SvREFCNT_dec(now.content_type);
    now.content_type = NULL;
  }
  forget(aTHX_ &now.headers_in);
  forget(aTHX_ &now.headers_out);
  forget(aTHX_ &now.err_headers_out);
  forget(aTHX_ &now.notes);
  now.status = 0;
}

/* Dies when `$r` is not the request being served. */
void mehari_request_check(pTHX_ SV *self)
{
  if (!SvROK(self) || !sv_derived_from(self, "Apache2::RequestRec"))
    croak("argument is not an Apache2::RequestRec object");
  SV *inner = SvRV(self);
  if (SvTYPE(inner) == SVt_PVHV) { /* a subclass that wraps one */
    SV **held = hv_fetchs((HV *)inner, "r", 0);
    if (!held)
      held = hv_fetchs((HV *)inner, "_r", 0);
    if (held)
      mehari_request_check(aTHX_ *held);
    else
      croak("the object has no `r` or `_r` that holds an Apache2::RequestRec");
    return;
  }
  if (!mehari_serving || SvUV(inner) != serial)
    croak("this Apache2::RequestRec object is of a request that has ended");
}

int *mehari_request_status(void) { return &now.status; }
SV **mehari_request_content_type(void) { return &now.content_type; }

/* A table made by Perl code the first time it is asked for. */
static SV *table(pTHX_ HV **held)
{
  if (!*held) {
    dSP;
    ENTER;
    SAVETMPS;
    PUSHMARK(SP);
    mXPUSHs(newSVpvs("APR::Table"));
    PUTBACK;
    int count = call_method("new_table", G_SCALAR);
    SPAGAIN;
    if (count == 1 && SvROK(TOPs))
      *held = (HV *)SvREFCNT_inc(SvRV(TOPs));
    SP -= count;
    PUTBACK;
    FREETMPS;
    LEAVE;
  }
  if (!*held)
    croak("APR::Table cannot be made");
  return sv_bless(newRV_inc((SV *)*held), gv_stashpvs("APR::Table", GV_ADD));
}

static void table_add(pTHX_ SV *into, mehari_text name, mehari_text value)
{
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  XPUSHs(into);
  mXPUSHp(name.at, name.length);
  mXPUSHp(value.at, value.length);
  PUTBACK;
  call_method("add", G_VOID | G_DISCARD);
  FREETMPS;
  LEAVE;
}

SV *mehari_request_table(pTHX_ int which)
{
  HV **held = which == 0 ? &now.headers_in : which == 1 ? &now.headers_out : which == 2 ? &now.err_headers_out : &now.notes;
  bool fresh = !*held;
  SV *object_of_table = table(aTHX_ held);
  if (fresh && which == 0)
    for (int i = 0; i < mehari_now.frame->field_count; i++)
      table_add(aTHX_ object_of_table, mehari_span_text(mehari_now.fields[i].name), mehari_span_text(mehari_now.fields[i].value));
  return object_of_table;
}

/* ---- the response head ---- */

static void add_table(pTHX_ HV *held)
{
  if (!held)
    return;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  mXPUSHs(sv_bless(newRV_inc((SV *)held), gv_stashpvs("APR::Table", GV_ADD)));
  PUTBACK;
  int count = call_method("pairs", G_LIST | G_EVAL);
  SPAGAIN;
  SV **first = SP - count + 1;
  for (int i = 0; i + 1 < count; i += 2) {
    STRLEN name_length, value_length;
    const char *name = SvPV(first[i], name_length), *value = SvPV(first[i + 1], value_length);
    mehari_head_add(&mehari_response, name, name_length, value, value_length);
  }
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
}

void mehari_request_fill_head(pTHX)
{
  mehari_response.status = now.status;
  if (now.content_type) {
    STRLEN length;
    const char *type = SvPV(now.content_type, length);
    mehari_head_add(&mehari_response, "Content-Type", 12, type, length);
  }
  add_table(aTHX_ now.headers_out);
  add_table(aTHX_ now.err_headers_out);
}

void mehari_request_complete_head(pTHX)
{
  if (!mehari_response.status)
    mehari_response.status = now.status;
  add_table(aTHX_ now.headers_out);
  add_table(aTHX_ now.err_headers_out);
}

/* ---- the rung ---- */

static HV *resolved; /* handler as configured => code reference */

typedef struct {
  mehari_text name;
  SV *code;
  SV *invocant; /* `Class->method` */
  IV returned;
  bool died;
} handler_call;

static void adopt(pTHX_ handler_call *this, SV *pair_reference)
{
  AV *pair = (AV *)SvRV(pair_reference);
  this->code = AvARRAY(pair)[0];
  this->invocant = av_top_index(pair) > 0 ? AvARRAY(pair)[1] : NULL;
}

static void call_handler(pTHX_ void *argument)
{
  handler_call *this = argument;
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  if (this->invocant)
    XPUSHs(this->invocant);
  XPUSHs(mehari_request_object(aTHX));
  PUTBACK;
  int count = call_sv(this->code, G_SCALAR | G_EVAL);
  SPAGAIN;
  SV *result = count ? POPs : &PL_sv_undef;
  this->died = SvTRUE(ERRSV);
  this->returned = this->died ? 500 : SvOK(result) ? SvIV(result) : 0;
  PUTBACK;
  FREETMPS;
  LEAVE;
}

/* Only the first use of a handler runs Perl here; later ones are one hash look-up. */
static bool load(pTHX_ handler_call *this)
{
  SV **known = resolved ? hv_fetch(resolved, this->name.at, this->name.length, 0) : NULL;
  if (known) {
    adopt(aTHX_ this, *known);
    return true;
  }
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  mXPUSHp(this->name.at, this->name.length);
  PUTBACK;
  int count = call_pv("Mehari::Handler::resolve", G_SCALAR | G_EVAL);
  SPAGAIN;
  bool found = count == 1 && !SvTRUE(ERRSV) && SvROK(TOPs);
  if (found) {
    if (!resolved)
      resolved = newHV();
    adopt(aTHX_ this, *hv_store(resolved, this->name.at, this->name.length, newSVsv(TOPs), 0));
  }
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
  if (!found)
    mehari_log_exception(aTHX_ "handler");
  return found;
}

static void load_in_guard(pTHX_ void *argument)
{
  handler_call *this = argument;
  this->returned = load(aTHX_ this) ? 0 : 500;
}

/* mod_perl: OK is 0, DECLINED -1, DONE -2; anything else is a status, 200 too. */
static int status_of(IV returned)
{
  if (returned == 0 || returned == -2)
    return 0;
  if (returned == -1)
    return 404;
  return returned >= 200 && returned <= 599 ? (int)returned : 500;
}

void mehari_handler_serve(pTHX)
{
  handler_call this = {mehari_request_text(MEHARI_TEXT_TASK), NULL, NULL, 500, false};
  int exit_status = 0;
  mehari_outcome outcome = mehari_guard(aTHX_ load_in_guard, &this, &exit_status);
  if (outcome == MEHARI_RAN && this.returned == 0) {
    outcome = mehari_guard(aTHX_ call_handler, &this, &exit_status);
    if (mehari_in_child)
      mehari_child_leave(aTHX_ exit_status);
    if (this.died && outcome == MEHARI_RAN)
      mehari_log_exception(aTHX_ "handler");
    if (outcome == MEHARI_EXITED)
      this.returned = 0;
  }
  int status = status_of(this.returned);
  if (!status) {
    mehari_output_end(aTHX);
    return;
  }
  if (status >= 400 && !mehari_output_sent()) {
    mehari_output_discard();
    mehari_output_error(status);
    return;
  }
  if (!now.status)
    now.status = status;
  if (mehari_output_sent() && this.died)
    mehari_output_error(status);
  else
    mehari_output_end(aTHX);
}
