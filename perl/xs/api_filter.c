/* Filters written in Perl (PerlInputFilterHandler, PerlOutputFilterHandler): the body of the request before it is
 * read, the body of the response before it is sent. Apache2::Filter runs them, piece by piece.
 */
#include "api.h"

typedef struct {
  int phase;
  mehari_rec *rec;
  mehari_text body;
  bool is_last;
  SV *made; /* NULL: a filter died */
} filtering;

static void run_filters(pTHX_ void *argument)
{
  filtering *this = argument;
  AV *handlers = mehari_rec_handlers(this->rec, this->phase);
  load_module(PERL_LOADMOD_NOIMPORT, newSVpvs("Apache2::Filter"), NULL);
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  XPUSHs(mehari_rec_object(aTHX_ this->rec));
  mXPUSHs(newRV_inc((SV *)handlers));
  mXPUSHp(this->body.at, this->body.length);
  mXPUSHp(mehari_phases[this->phase].name, strlen(mehari_phases[this->phase].name));
  XPUSHs(this->is_last ? &PL_sv_yes : &PL_sv_no);
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

static SV *filter(pTHX_ mehari_rec *rec, int phase, mehari_text body, bool is_last)
{
  const char *before = mehari_phase_now;
  filtering this = {phase, rec, body, is_last, NULL};
  mehari_phase_now = mehari_phases[phase].name;
  mehari_guard(aTHX_ run_filters, &this, NULL);
  mehari_phase_now = before;
  return this.made;
}

SV *mehari_filter_output(pTHX_ mehari_text body, bool is_last)
{
  return filter(aTHX_ mehari_rec_now, MEHARI_PHASE_OUTPUT_FILTER, body, is_last);
}

/* The body is complete before a worker sees it, so it is filtered at once and lives as long as the request. */
static void filter_input(pTHX_ mehari_rec *rec)
{
  SV *made = filter(aTHX_ rec, MEHARI_PHASE_INPUT_FILTER, (mehari_text){mehari_now.body, mehari_now.body_length}, true);
  if (!made)
    return;
  HV *slots = rec->slots ? rec->slots : (rec->slots = newHV());
  (void)hv_stores(slots, "filtered body", made);
  mehari_mailbox_replace_body((mehari_text){SvPVX(made), SvCUR(made)});
}

void mehari_filters_begin(pTHX_ mehari_rec *rec)
{
  if (mehari_rec_handlers(rec, MEHARI_PHASE_INPUT_FILTER) && mehari_now.body_length)
    filter_input(aTHX_ rec);
  mehari_output_gathers = mehari_rec_handlers(rec, MEHARI_PHASE_OUTPUT_FILTER) != NULL;
}

/* add_output_filter($code), add_input_filter($code): what was read or sent before is not filtered. */
XS_INTERNAL(add_filter)
{
  dXSARGS;
  dXSI32;
  if (items != 2)
    croak_xs_usage(cv, "r, handler");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  if (ix == MEHARI_PHASE_OUTPUT_FILTER && mehari_output_sent())
    croak("add_output_filter: a part of the answer is on its way already");
  mehari_rec_stack(aTHX_ rec, sv_2mortal(newSVpv(mehari_phases[ix].name, 0)), ST(1), false);
  if (ix == MEHARI_PHASE_OUTPUT_FILTER)
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
