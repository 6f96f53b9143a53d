/* `$r`: the request as mod_perl's handlers know it, and the rung `handler`.
 *
 * The object is a reference to a number that names the request; used after its request it dies
 * rather than touch another's.
 */
#include "api.h"

static SV *object;      /* the one `$r` of the request, a reference */
static UV serial;
static HV *request_stash;
typedef struct {
  mehari_table *table; /* made when it is first asked for */
  SV *object;          /* what Perl code has of it */
  bool is_filled;      /* for this request */
} held_table;
static struct {
  SV *content_type;
  held_table tables[MEHARI_TABLES];
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

/* A table nobody kept serves again. */
static void forget(pTHX_ held_table *held)
{
  if (!held->table)
    return;
  held->is_filled = false;
  if (held->object && mehari_table_is_unshared(aTHX_ held->object)) {
    mehari_table_clear(held->table);
    return;
  }
  SvREFCNT_dec(held->object);
  mehari_table_release(held->table);
  *held = (held_table){NULL, NULL, false};
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
  for (int i = 0; i < MEHARI_TABLES; i++)
    forget(aTHX_ &now.tables[i]);
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

SV *mehari_request_table(pTHX_ int which)
{
  held_table *held = &now.tables[which];
  if (!held->table)
    held->table = mehari_table_new();
  if (!held->is_filled) {
    held->is_filled = true;
    for (int i = 0; which == MEHARI_HEADERS_IN && i < mehari_now.frame->field_count; i++)
      mehari_table_add(held->table, mehari_span_text(mehari_now.fields[i].name), mehari_span_text(mehari_now.fields[i].value));
  }
  if (!held->object)
    held->object = mehari_table_object(aTHX_ held->table);
  return newSVsv(held->object);
}

/* ---- the response head ---- */

static void add_table(int which)
{
  const mehari_table *table = now.tables[which].table;
  for (int i = 0; table && i < table->count; i++)
    mehari_head_add(&mehari_response, table->entries[i].name, table->entries[i].name_length, table->entries[i].value,
                    table->entries[i].value_length);
}

void mehari_request_fill_head(pTHX)
{
  mehari_response.status = now.status;
  if (now.content_type) {
    STRLEN length;
    const char *type = SvPV(now.content_type, length);
    mehari_head_add(&mehari_response, "Content-Type", 12, type, length);
  }
  add_table(MEHARI_HEADERS_OUT);
  add_table(MEHARI_ERR_HEADERS_OUT);
}

void mehari_request_complete_head(pTHX)
{
  if (!mehari_response.status)
    mehari_response.status = now.status;
  add_table(MEHARI_HEADERS_OUT);
  add_table(MEHARI_ERR_HEADERS_OUT);
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
