/* Runs filters written in Perl (PerlInputFilterHandler, PerlOutputFilterHandler). Input filters
 * process the request's body before it is read. Output filters process the response's body before
 * it is sent. Apache2::Filter passes the body to the filters piece by piece. */
#include "api/api.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "phases/settings.h"
#include "request/record.h"
#include "response/response.h"
#include "stdio/standard.h"

bool mehari_input_refused;

/* Whether the body has passed the input filters that were there when the response began. */
MEHARI_WRITTEN static bool input_is_filtered;
MEHARI_WRITTEN static int output_filters_running;

typedef struct {
  int phase;
  mehari_rec *rec;
  mehari_text body;
  mehari_part_of_body part;
  const mehari_pieces *pieces; /* NULL: one piece */
  int place; /* the filters before this place are skipped */
  SV *made; /* NULL: a filter died */
} filtering;

static void run_filters(pTHX_ void *argument)
{
  filtering *this = argument;
  AV *handlers = mehari_rec_handlers(this->rec, this->phase);
  if (!handlers) {
    this->made = newSVpvn(this->body.at, this->body.length);
    return;
  }
  load_module(PERL_LOADMOD_NOIMPORT, newSVpvs("Apache2::Filter"), NULL);
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  XPUSHs(mehari_rec_object(aTHX_ this->rec));
  mXPUSHs(newRV_inc((SV *)handlers));
  mXPUSHp(this->body.at, this->body.length);
  mXPUSHp(mehari_phases[this->phase].name, strlen(mehari_phases[this->phase].name));
  XPUSHs(boolSV(this->part == MEHARI_PART_LAST));
  mXPUSHi(this->place);
  XPUSHs(boolSV(this->part == MEHARI_PART_FLUSHED));
  for (int i = 0; this->pieces && i < this->pieces->count; i++)
    mXPUSHu(this->pieces->at[i]);
  PUTBACK;
  int count = call_pv("Apache2::Filter::run", G_SCALAR | G_EVAL);
  SPAGAIN;
  if (count == 1 && !SvTRUE(ERRSV)) {
    this->made = newSVsv(TOPs);
    (void)SvPV_force_nolen(this->made);
  } else
    mehari_log_exception(aTHX_ mehari_phases[this->phase].name);
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
}

/* Runs the filters. `$@` stays unchanged, because a handler may flush within an `eval`. */
static SV *filter(pTHX_ filtering this)
{
  const char *before = mehari_phase_now;
  SV *error = SvTRUE(ERRSV) ? newSVsv(ERRSV) : NULL;
  bool is_output = this.phase == MEHARI_PHASE_OUTPUT_FILTER;
  mehari_phase_now = mehari_phases[this.phase].name;
  output_filters_running += is_output;
  mehari_guard(aTHX_ run_filters, &this, NULL);
  output_filters_running -= is_output;
  mehari_phase_now = before;
  if (error)
    sv_setsv(ERRSV, error);
  SvREFCNT_dec(error);
  return this.made;
}

SV *mehari_filter_output(pTHX_ mehari_text body, const mehari_pieces *pieces, mehari_part_of_body part)
{
  return filter(aTHX_ (filtering){MEHARI_PHASE_OUTPUT_FILTER, mehari_rec_now, body, part, pieces, 0, NULL});
}

/* Runs the sub-request's filters over its body. The main request's filters then process the result,
 * beginning with the filter at the place that `filtered_from` gives. */
bool mehari_filter_subrequest(pTHX_ mehari_rec *sub, SV *body)
{
  filtering steps[] = {{MEHARI_PHASE_OUTPUT_FILTER, sub, {0}, MEHARI_PART_LAST, NULL, 0, NULL},
                       {MEHARI_PHASE_OUTPUT_FILTER, sub->main, {0}, MEHARI_PART_MORE, NULL, sub->filtered_from - 1, NULL}};
  for (int i = 0; i < (sub->filtered_from > 1 ? 2 : 1); i++) {
    if (!mehari_rec_handlers(steps[i].rec, MEHARI_PHASE_OUTPUT_FILTER))
      continue;
    steps[i].body = (mehari_text){SvPVX(body), SvCUR(body)};
    SV *made = filter(aTHX_ steps[i]);
    if (!made)
      return false;
    sv_setsv(body, made);
    SvREFCNT_dec(made);
  }
  return true;
}

bool mehari_output_filter_runs(void) { return output_filters_running > 0; }

void mehari_filter_insert(pTHX_ mehari_text body)
{
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  mXPUSHp(body.at, body.length);
  PUTBACK;
  call_pv("Apache2::Filter::insert", G_VOID | G_DISCARD);
  FREETMPS;
  LEAVE;
}

/* Passes the unread body through the input filters from a place on. The whole body passes at once,
 * because it is complete before a worker gets the request. The filtered body lives as long as the
 * request. */
static void filter_input(pTHX_ mehari_rec *rec, int place)
{
  STRLEN unread = mehari_input_rest();
  mehari_text body = {mehari_now.body + mehari_now.body_length - unread, unread};
  SV *made = filter(aTHX_ (filtering){MEHARI_PHASE_INPUT_FILTER, rec, body, MEHARI_PART_LAST, NULL, place, NULL});
  mehari_input_refused = !made;
  if (!made)
    made = newSVpvs("");
  mehari_mailbox_replace_body((mehari_text){SvPVX(made), SvCUR(made)});
  mehari_input_restart();
  HV *slots = rec->slots ? rec->slots : (rec->slots = newHV());
  (void)hv_stores(slots, "filtered body", made);
}

void mehari_filters_forget(void)
{
  mehari_input_refused = input_is_filtered = false;
  output_filters_running = 0;
}

void mehari_filters_begin(pTHX_ mehari_rec *rec)
{
  mehari_input_refused = false;
  input_is_filtered = true;
  if (mehari_rec_handlers(rec, MEHARI_PHASE_INPUT_FILTER) && mehari_now.body_length)
    filter_input(aTHX_ rec, 0);
  mehari_output_gathers = mehari_rec_handlers(rec, MEHARI_PHASE_OUTPUT_FILTER) != NULL;
  /* Filters may have to run before the first part of the response is sent. */
  if (mehari_output_gathers)
    SvREFCNT_dec(mehari_filter_output(aTHX_ (mehari_text){"", 0}, NULL, MEHARI_PART_MORE));
}

/* Returns the handler with its package. As in mod_perl, a name without a package is a sub of the
 * caller's package, if that package has such a sub. */
static SV *in_package(pTHX_ SV *handler)
{
  STRLEN length;
  const char *name = SvROK(handler) ? NULL : SvPV(handler, length);
  if (!name || memchr(name, ':', length) || memchr(name, '>', length) || memchr(name, ' ', length))
    return handler;
  SV *full = sv_2mortal(newSVpvf("%s::%s", CopSTASHPV(PL_curcop) ? CopSTASHPV(PL_curcop) : "main", name));
  return get_cv(SvPV_nolen(full), 0) ? full : handler;
}

/* Passes the unread body through an input filter that was added after the others had run. */
static void filter_rest(pTHX_ mehari_rec *rec)
{
  if (!input_is_filtered || mehari_input_refused || rec->main || !mehari_input_rest())
    return;
  filter_input(aTHX_ rec, av_top_index(mehari_rec_handlers(rec, MEHARI_PHASE_INPUT_FILTER)));
}

/* add_output_filter($code), add_input_filter($code): add a filter. Data that were read or sent
 * before are not filtered. */
XS_INTERNAL(add_filter)
{
  dXSARGS;
  dXSI32;
  if (items != 2)
    croak_xs_usage(cv, "r, handler");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  if (ix == MEHARI_PHASE_OUTPUT_FILTER && mehari_output_sent())
    croak("add_output_filter: a part of the response has already been sent");
  mehari_rec_stack(aTHX_ rec, sv_2mortal(newSVpv(mehari_phases[ix].name, 0)), in_package(aTHX_ ST(1)), false);
  if (ix == MEHARI_PHASE_INPUT_FILTER)
    filter_rest(aTHX_ rec);
  else if (!rec->main) /* the body of a sub-request is filtered when the sub-request ends */
    mehari_output_gathers = true;
  XSRETURN_EMPTY;
}

void mehari_filter_boot(pTHX)
{
  static const mehari_sub subs[] = {
    {"Apache2::RequestRec::add_output_filter", add_filter, MEHARI_PHASE_OUTPUT_FILTER},
    {"Apache2::RequestRec::add_input_filter", add_filter, MEHARI_PHASE_INPUT_FILTER},
  };
  MEHARI_DEFINE(subs);
}
