/* Common methods of `$r`: notes, variables, and the objects that belong to a request. */
#include "api/api.h"
#include "environment/environment.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "phases/settings.h"
#include "process/process.h"
#include "request/record.h"
#include <time.h>

/* ---- tables with direct access by name ---- */

static SV *value_sv(pTHX_ const mehari_entry *entry)
{
  return entry ? newSVpvn_flags(entry->value, entry->value_length, SVs_TEMP) : &PL_sv_undef;
}

/* Sets a value. As in mod_perl, an undefined value removes the name. */
static void store(pTHX_ mehari_table *table, SV *name, SV *value)
{
  SvGETMAGIC(value);
  if (SvOK(value))
    mehari_table_set(table, mehari_sv_text(aTHX_ name), mehari_sv_text(aTHX_ value));
  else
    mehari_table_unset(table, mehari_sv_text(aTHX_ name));
}

/* notes: returns the table. As in mod_perl 1, notes($name) and notes($name => $value) access one
 * value. */
XS_INTERNAL(notes)
{
  dXSARGS;
  dXSI32;
  if (items < 1 || items > 3)
    croak_xs_usage(cv, "r, [name, [value]]");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  if (items == 1 || SvROK(ST(1))) {
    ST(0) = sv_2mortal(mehari_rec_table_object(aTHX_ rec, ix));
    XSRETURN(1);
  }
  mehari_table *table = mehari_rec_table(rec, ix);
  SV *old = value_sv(aTHX_ mehari_table_find(table, mehari_sv_text(aTHX_ ST(1))));
  if (items == 3)
    store(aTHX_ table, ST(1), ST(2));
  ST(0) = old;
  XSRETURN(1);
}

/* Fills a table with the variables of `PerlSetVar` and `PerlAddVar`. A name may occur several
 * times. */
static void fill_dir_config(pTHX_ mehari_rec *rec, mehari_table *table)
{
  AV *variables = rec->settings ? rec->settings->variables : NULL;
  for (SSize_t i = 0; variables && i + 1 <= av_top_index(variables); i += 2)
    mehari_table_add(table, mehari_sv_text(aTHX_ AvARRAY(variables)[i]), mehari_sv_text(aTHX_ AvARRAY(variables)[i + 1]));
}

static mehari_table *dir_config_table(pTHX_ mehari_rec *rec)
{
  bool is_fresh = !rec->tables[MEHARI_TABLE_DIR_CONFIG].is_filled;
  mehari_table *table = mehari_rec_table(rec, MEHARI_TABLE_DIR_CONFIG);
  if (is_fresh)
    fill_dir_config(aTHX_ rec, table);
  return table;
}

/* Returns a configured value. Reads the settings directly while no code has asked for the table. */
static SV *configured(pTHX_ mehari_rec *rec, mehari_text name)
{
  AV *variables = rec->settings ? rec->settings->variables : NULL;
  for (SSize_t i = 0; variables && i + 1 <= av_top_index(variables); i += 2) {
    mehari_text each = mehari_sv_text(aTHX_ AvARRAY(variables)[i]);
    if (each.length == name.length && !strncasecmp(each.at, name.at, name.length))
      return sv_mortalcopy(AvARRAY(variables)[i + 1]);
  }
  return &PL_sv_undef;
}

XS_INTERNAL(dir_config)
{
  dXSARGS;
  if (items < 1 || items > 3)
    croak_xs_usage(cv, "r, [name, [value]]");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  if (items > 1)
    SvGETMAGIC(ST(1));
  if (items == 2 && SvOK(ST(1)) && !rec->tables[MEHARI_TABLE_DIR_CONFIG].is_filled) {
    ST(0) = configured(aTHX_ rec, mehari_sv_text(aTHX_ ST(1)));
    XSRETURN(1);
  }
  mehari_table *table = dir_config_table(aTHX_ rec);
  if (items == 1 || !SvOK(ST(1))) {
    ST(0) = sv_2mortal(mehari_rec_table_object(aTHX_ rec, MEHARI_TABLE_DIR_CONFIG));
    XSRETURN(1);
  }
  SV *old = value_sv(aTHX_ mehari_table_find(table, mehari_sv_text(aTHX_ ST(1))));
  if (items == 3)
    store(aTHX_ table, ST(1), ST(2));
  ST(0) = old;
  XSRETURN(1);
}

/* Whether %ENV has the variables of this request. While handlers before the response of a
 * sub-request or a redirected request run, %ENV has those of the request that led to it. */
static bool has_environment(const mehari_rec *rec)
{
  return rec == mehari_rec_now && !mehari_environment_is_bare() && !(rec->is_early && (rec->main || rec->prev));
}

/* subprocess_env: returns the table, or accesses one value. In void context and without a name it
 * sets the request's variables in %ENV. */
XS_INTERNAL(subprocess_env)
{
  dXSARGS;
  if (items < 1 || items > 3)
    croak_xs_usage(cv, "r, [name, [value]]");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  bool is_void = GIMME_V == G_VOID;
  mehari_table *table = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  if (items == 1) {
    if (is_void)
      mehari_rec_name_previous(aTHX_ rec);
    if (is_void || has_environment(rec))
      mehari_environment_into(aTHX_ rec, is_void);
    if (is_void)
      XSRETURN_EMPTY;
    ST(0) = sv_2mortal(mehari_rec_table_object(aTHX_ rec, MEHARI_TABLE_SUBPROCESS_ENV));
    XSRETURN(1);
  }
  mehari_text name = mehari_sv_text(aTHX_ ST(1));
  const mehari_entry *entry = mehari_table_find(table, name);
  SV *old = value_sv(aTHX_ entry);
  SV **in_env = entry || !has_environment(rec) ? NULL : hv_fetch(GvHVn(PL_envgv), name.at, name.length, 0);
  if (in_env && SvOK(*in_env))
    old = sv_mortalcopy(*in_env);
  if (items == 3) {
    store(aTHX_ table, ST(1), ST(2));
    if (SvOK(ST(2)) && has_environment(rec))
      mehari_environment_set(aTHX_ name, mehari_sv_text(aTHX_ ST(2)));
  }
  ST(0) = old;
  XSRETURN(1);
}

/* ---- Perl's own notes ---- */

/* pnotes: stores the value itself, not a copy, so that a change through one reference is visible
 * through all references. */
XS_INTERNAL(pnotes)
{
  dXSARGS;
  if (items < 1 || items > 3)
    croak_xs_usage(cv, "r, [name, [value]]");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  if (!rec->pnotes)
    rec->pnotes = newHV();
  if (items == 1) {
    ST(0) = sv_2mortal(newRV_inc((SV *)rec->pnotes));
    XSRETURN(1);
  }
  if (items == 3) {
    SV *value = SvPADTMP(ST(2)) ? newSVsv(ST(2)) : SvREFCNT_inc_NN(ST(2));
    if (!hv_store_ent(rec->pnotes, ST(1), value, 0))
      SvREFCNT_dec(value);
    ST(0) = ST(2);
    XSRETURN(1);
  }
  HE *found = hv_fetch_ent(rec->pnotes, ST(1), 0, 0);
  ST(0) = found ? sv_2mortal(SvREFCNT_inc_NN(HeVAL(found))) : &PL_sv_undef;
  XSRETURN(1);
}

XS_INTERNAL(pnotes_kill)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "r");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  if (rec->pnotes)
    hv_clear(rec->pnotes);
  XSRETURN_EMPTY;
}

/* ---- objects of the request, made at the first access ---- */

static const struct { const char *slot, *module, *maker; } belongings[] = {
  {"connection", "Apache2::Connection", "Apache2::Connection::of_request"},
  {"server", "Apache2::ServerRec", "Apache2::ServerRec::of_request"},
  {"pool", "APR::Pool", "APR::Pool::of_request"},
};

static HV *slots_of(mehari_rec *rec)
{
  dTHX;
  return rec->slots ? rec->slots : (rec->slots = newHV());
}

static SV *make(pTHX_ int which, SV *r)
{
  dSP;
  /* The module is loaded only once, because loading costs more than making the object. */
  if (!get_cv(belongings[which].maker, 0)) {
    load_module(PERL_LOADMOD_NOIMPORT, newSVpv(belongings[which].module, 0), NULL);
    SPAGAIN;
  }
  PUSHMARK(SP);
  XPUSHs(sv_2mortal(newSVpv(belongings[which].module, 0)));
  XPUSHs(r);
  PUTBACK;
  call_pv(belongings[which].maker, G_SCALAR);
  SPAGAIN;
  SV *made = newSVsv(POPs);
  PUTBACK;
  return made;
}

static SV *belonging_of(pTHX_ mehari_rec *rec, int which)
{
  HV *slots = slots_of(rec);
  const char *slot = belongings[which].slot;
  SV **held = hv_fetch(slots, slot, strlen(slot), 0);
  if (!held) {
    SV *made = make(aTHX_ which, sv_2mortal(newSVsv(mehari_rec_object(aTHX_ rec))));
    held = hv_store(slots, slot, strlen(slot), made, 0);
  }
  return *held;
}

SV *mehari_rec_connection(pTHX_ mehari_rec *rec) { return belonging_of(aTHX_ rec, 0); }

XS_INTERNAL(belonging)
{
  dXSARGS;
  dXSI32;
  if (items < 1)
    croak_xs_usage(cv, "r");
  SV *found = belonging_of(aTHX_ mehari_rec_of(aTHX_ ST(0)), ix);
  ST(0) = sv_mortalcopy(found);
  XSRETURN(1);
}

/* _slots: returns the hash of the data that the Perl part of the API keeps for this request, by
 * name. */
XS_INTERNAL(slots)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "r");
  ST(0) = sv_2mortal(newRV_inc((SV *)slots_of(mehari_rec_of(aTHX_ ST(0)))));
  XSRETURN(1);
}

/* _numbered_method: returns the method of the number that `$r->method_number` returns. */
XS_INTERNAL(numbered_method)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "r");
  mehari_text method = mehari_rec_numbered_method(aTHX_ mehari_rec_of(aTHX_ ST(0)));
  ST(0) = newSVpvn_flags(method.at, method.length, SVs_TEMP);
  XSRETURN(1);
}

/* _satisfies: returns Apache2::Const::SATISFY_ALL (0), SATISFY_ANY (1) or SATISFY_NOSPEC (2). */
XS_INTERNAL(satisfies)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "r");
  XSRETURN_IV(mehari_rec_satisfies(aTHX_ mehari_rec_of(aTHX_ ST(0))));
}

/* ---- numbers ---- */

/* Returns the old number, and sets the new one if there is an argument. */
XS_INTERNAL(number)
{
  dXSARGS;
  dXSI32;
  if (items < 1 || items > 2)
    croak_xs_usage(cv, "r, [number]");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  IV old = rec->numbers[ix];
  if (items == 2)
    rec->numbers[ix] = SvIV(ST(1));
  XSRETURN_IV(old);
}

/* Returns the present date as HTTP writes it. */
static mehari_text date_now(void)
{
  static char text[64];
  time_t now = time(NULL);
  struct tm parts;
  static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  gmtime_r(&now, &parts);
  STRLEN length = MEHARI_FORMAT(text, "%.3s, %02d %.3s %d %02d:%02d:%02d GMT", days + 3 * parts.tm_wday, parts.tm_mday,
                                months + 3 * parts.tm_mon, parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
  return (mehari_text){text, length};
}

/* no_cache($on): sets Pragma, Cache-Control and Expires. */
XS_INTERNAL(no_cache)
{
  dXSARGS;
  if (items < 1 || items > 2)
    croak_xs_usage(cv, "r, [flag]");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  IV old = rec->numbers[MEHARI_NUMBER_NO_CACHE];
  if (items == 2) {
    static const mehari_text pragma = {"Pragma", 6}, control = {"Cache-control", 13}, none = {"no-cache", 8}, expires = {"Expires", 7};
    mehari_table *out = mehari_rec_table(rec, MEHARI_TABLE_HEADERS_OUT);
    rec->numbers[MEHARI_NUMBER_NO_CACHE] = SvTRUE(ST(1));
    if (SvTRUE(ST(1))) {
      mehari_table_set(out, pragma, none);
      mehari_table_set(out, control, none);
      if (!mehari_table_find(out, expires))
        mehari_table_set(out, expires, date_now());
    } else {
      mehari_table_unset(out, pragma);
      mehari_table_unset(out, control);
      mehari_table_unset(out, expires);
    }
  }
  XSRETURN_IV(old);
}

/* ---- relations ---- */

enum { MAIN, PREV, NEXT };

XS_INTERNAL(relation)
{
  dXSARGS;
  dXSI32;
  if (items < 1)
    croak_xs_usage(cv, "r");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  OP *here = PL_op;
  /* The phases of an index are those of a sub-request, which has the record of its request. */
  mehari_rec *within = rec->is_for_index ? rec : mehari_rec_main(aTHX_ rec);
  mehari_rec *other = ix == MAIN ? within : ix == PREV ? mehari_rec_previous(aTHX_ rec) : rec->next;
  PL_op = here;
  ST(0) = other ? sv_mortalcopy(mehari_rec_object(aTHX_ other)) : &PL_sv_undef;
  XSRETURN(1);
}

XS_INTERNAL(is_initial_req)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "r");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  XSRETURN_IV(mehari_rec_is_initial(rec) && !rec->is_for_index);
}

/* Apache2::RequestUtil->request: returns the current request. Unlike in mod_perl, an argument does
 * not become the current request. */
XS_INTERNAL(current_request)
{
  dXSARGS;
  PERL_UNUSED_VAR(items);
  SP -= items;
  bool is_off = mehari_rec_now && mehari_rec_now->settings && mehari_rec_now->settings->options_off & MEHARI_OPTION_GLOBAL_REQUEST;
  if (!mehari_rec_now || !mehari_serving || is_off) {
    if (GIMME_V == G_VOID)
      XSRETURN_EMPTY;
    croak("Global $r object is not available. Set:\n\tPerlOptions +GlobalRequest\nin httpd.conf");
  }
  XPUSHs(sv_mortalcopy(mehari_rec_object(aTHX_ mehari_rec_now)));
  PUTBACK;
}

/* ModPerl::Util::current_callback: returns the directive of the running handler; undef during the
 * start. */
XS_INTERNAL(current_callback)
{
  dXSARGS;
  PERL_UNUSED_VAR(items);
  EXTEND(SP, 1);
  const char *name = mehari_phase_now ? mehari_phase_now : mehari_serving ? mehari_phases[MEHARI_PHASE_RESPONSE].name : NULL;
  ST(0) = name ? newSVpvn_flags(name, strlen(name), SVs_TEMP) : &PL_sv_undef;
  XSRETURN(1);
}

/* child_terminate: has this worker replaced after the request and its cleanups. */
XS_INTERNAL(child_terminate)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "r");
  MEHARI_CHECK(ST(0));
  mehari_retire = true;
  XSRETURN_EMPTY;
}

/* Mehari::replace_worker(): has a successor of this worker forked. The worker serves until then. */
XS_INTERNAL(replace_worker)
{
  dXSARGS;
  PERL_UNUSED_VAR(items);
  mehari_replace = true;
  XSRETURN_EMPTY;
}

static const struct { const char *name; U8 option; } options[] = {
  {"None", 0},
  {"ParseHeaders", MEHARI_OPTION_PARSE_HEADERS}, {"SetupEnv", MEHARI_OPTION_SETUP_ENV},
  {"GlobalRequest", MEHARI_OPTION_GLOBAL_REQUEST}, {"MergeHandlers", MEHARI_OPTION_MERGE_HANDLERS},
};

XS_INTERNAL(is_perl_option_enabled)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "r, name");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  const char *name = SvPV_nolen(ST(1));
  /* As in mod_perl: the configured `PerlOptions`, without defaults. */
  for (size_t i = 0; i < C_ARRAY_LENGTH(options); i++)
    if (strEQ(options[i].name, name)) {
      bool is_on = rec->settings && rec->settings->options_on & options[i].option;
      ST(0) = sv_2mortal(newSViv(is_on));
      XSRETURN(1);
    }
  croak("PerlOptions %s is not a directory option", name);
}

XS_INTERNAL(setting)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "r, name");
  SV *text = mehari_settings_text(aTHX_ mehari_rec_of(aTHX_ ST(0))->settings, SvPV_nolen(ST(1)));
  ST(0) = text ? sv_mortalcopy(text) : &PL_sv_undef;
  XSRETURN(1);
}

void mehari_api_request_boot(pTHX)
{
  static const mehari_sub subs[] = {
    {"Apache2::RequestRec::notes", notes, MEHARI_TABLE_NOTES}, {"Apache2::RequestRec::dir_config", dir_config, 0},
    {"Apache2::RequestRec::subprocess_env", subprocess_env, 0}, {"Apache2::RequestRec::pnotes", pnotes, 0},
    {"Apache2::RequestRec::pnotes_kill", pnotes_kill, 0}, {"Apache2::RequestRec::connection", belonging, 0},
    {"Apache2::RequestRec::server", belonging, 1}, {"Apache2::RequestRec::pool", belonging, 2},
    {"Apache2::RequestRec::_slots", slots, 0}, {"Apache2::RequestRec::_numbered_method", numbered_method, 0}, {"Apache2::RequestRec::_satisfies", satisfies, 0}, {"Apache2::RequestRec::_setting", setting, 0},
    {"Apache2::RequestRec::assbackwards", number, MEHARI_NUMBER_ASSBACKWARDS},
    {"Apache2::RequestRec::no_local_copy", number, MEHARI_NUMBER_NO_LOCAL_COPY},
    {"Apache2::RequestRec::proxyreq", number, MEHARI_NUMBER_PROXYREQ}, {"Apache2::RequestRec::mtime", number, MEHARI_NUMBER_MTIME},
    {"Apache2::RequestRec::allowed", number, MEHARI_NUMBER_ALLOWED},
    {"Apache2::RequestRec::used_path_info", number, MEHARI_NUMBER_USED_PATH_INFO},
    {"Apache2::RequestRec::no_cache", no_cache, 0}, {"Apache2::RequestRec::main", relation, MAIN},
    {"Apache2::RequestRec::prev", relation, PREV}, {"Apache2::RequestRec::next", relation, NEXT},
    {"Apache2::RequestRec::is_initial_req", is_initial_req, 0}, {"Apache2::RequestRec::child_terminate", child_terminate, 0}, {"Mehari::replace_worker", replace_worker, 0},
    {"Apache2::RequestRec::is_perl_option_enabled", is_perl_option_enabled, 0},
    {"Apache2::RequestUtil::request", current_request, 0}, {"ModPerl::Util::current_callback", current_callback, 0},
  };
  MEHARI_DEFINE(subs);
}
