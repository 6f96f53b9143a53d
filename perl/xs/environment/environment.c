/* Sets %ENV before each request. variables.c sets the request's own variables.
 *
 * Stores here do not change C's environ, because each such change costs a microsecond. Before a
 * child process starts, system.c rebuilds environ from %ENV. */
#include "environment/environment.h"
#include "environment/parts.h"
#include "mailbox/mailbox.h"
#include "request/record.h"

AV *mehari_loose_names;
MEHARI_WRITTEN static bool is_bare; /* %ENV has no variable of a request, except `PerlSetEnv` of its place */
/* %ENV also lacks the variables by which programs detect mod_perl's API. */
MEHARI_WRITTEN static bool is_without_api;

bool mehari_environment_is_bare(void) { return is_bare; }

void mehari_environment_set(pTHX_ mehari_text name, mehari_text value)
{
  SV *key = newSVpvn(name.at, name.length);
  (void)hv_store_ent(GvHVn(PL_envgv), key, newSVpvn(value.at, value.length), 0);
  av_push(mehari_loose_names, key);
}

/* Whether the variable has this value without the request, as with `PassEnv` and `PerlPassEnv` of
 * the same variable. */
static bool has_already(pTHX_ HV *env, mehari_text name, mehari_text value)
{
  SV **known = hv_fetch(env, name.at, name.length, 0);
  return known && SvPOK(*known) && SvCUR(*known) == value.length && memEQ(SvPVX(*known), value.at, value.length);
}

static void set_variables(pTHX_ HV *env)
{
  for (int i = 0; i < mehari_now.frame->variable_count; i++) {
    mehari_text name = mehari_span_text(mehari_now.variables[i].name), value = mehari_span_text(mehari_now.variables[i].value);
    if (has_already(aTHX_ env, name, value))
      continue;
    SV *key = newSVpvn(name.at, name.length);
    (void)hv_store_ent(env, key, newSVpvn(value.at, value.length), 0);
    av_push(mehari_loose_names, key);
  }
}

/* Removes the last request's variables that have no pin (names.h). */
static void drop_loose(pTHX_ HV *env)
{
  SSize_t last = av_top_index(mehari_loose_names);
  for (SSize_t i = 0; i <= last; i++)
    (void)hv_delete_ent(env, AvARRAY(mehari_loose_names)[i], G_DISCARD, 0);
  if (last >= 0)
    av_clear(mehari_loose_names);
}

static void drop_foreign(pTHX_ HV *env)
{
  AV *foreign = newAV();
  hv_iterinit(env);
  HE *entry;
  while ((entry = hv_iternext(env))) {
    SV *key = hv_iterkeysv(entry);
    if (!mehari_is_base(aTHX_ key, NULL) && !mehari_is_fixed(aTHX_ key))
      av_push(foreign, SvREFCNT_inc_NN(key));
  }
  for (SSize_t i = 0; i <= av_top_index(foreign); i++) {
    my_setenv(SvPV_nolen(AvARRAY(foreign)[i]), NULL);
    (void)hv_delete_ent(env, AvARRAY(foreign)[i], G_DISCARD, 0);
  }
  SvREFCNT_dec((SV *)foreign);
  mehari_variables_forget();
}

void mehari_environment_begin(pTHX)
{
  mehari_environment_restore();
  HV *env = GvHVn(PL_envgv);
  U32 magic = SvFLAGS(env) & (SVs_RMG | SVs_SMG | SVs_GMG);
  SvFLAGS(env) &= ~magic;
  drop_loose(aTHX_ env);
  mehari_base_store(aTHX_ env);
  mehari_variables_set(aTHX_ env);
  /* The sum counts all variables that the server has set. If %ENV has another number, a script has
   * stored or removed a variable. */
  if (HvUSEDKEYS(env) != mehari_base_own_count() + mehari_variables_count() + (STRLEN)(av_top_index(mehari_loose_names) + 1)) {
    drop_foreign(aTHX_ env);
    mehari_variables_set(aTHX_ env);
  }
  set_variables(aTHX_ env);
  is_bare = is_without_api = false;
  SvFLAGS(env) |= magic;
}

static bool is_as_forgotten(pTHX_ HV *env, bool without_api)
{
  STRLEN expected = mehari_base_count() + (without_api ? 0 : 2);
  return is_bare && is_without_api == without_api && av_top_index(mehari_loose_names) < 0 && HvUSEDKEYS(env) == expected;
}

/* Sets the variables of `PerlSetEnv` for the request's location. The variables of the whole server
 * are already set. */
static void set_place(pTHX_ HV *env, const mehari_job *place)
{
  const mehari_request *frame = place->frame;
  int end = frame->set_env_count + frame->perl_set_env_count;
  for (int i = frame->set_env_count; i < end && i < frame->variable_count; i++) {
    mehari_text name = mehari_job_text(place, place->variables[i].name), value = mehari_job_text(place, place->variables[i].value);
    if (!has_already(aTHX_ env, name, value))
      mehari_environment_set(aTHX_ name, value);
  }
}

static void forget(pTHX_ bool without_api, const mehari_job *place)
{
  HV *env = GvHVn(PL_envgv);
  U32 magic = SvFLAGS(env) & (SVs_RMG | SVs_SMG | SVs_GMG);
  SvFLAGS(env) &= ~magic;
  bool is_clean = is_as_forgotten(aTHX_ env, without_api);
  if (!is_clean) {
    hv_clear(env);
    av_clear(mehari_loose_names);
    mehari_variables_forget();
  }
  mehari_base_store(aTHX_ env);
  if (!is_clean && !without_api)
    mehari_variables_set_api(aTHX_ env);
  if (place)
    set_place(aTHX_ env, place);
  is_bare = true;
  is_without_api = without_api;
  SvFLAGS(env) |= magic;
}

/* Called before a handler without `SetupEnv`. Leaves the server's variables and the location's
 * `PerlSetEnv`, but no variable of the request. */
void mehari_environment_forget(pTHX_ const mehari_job *place) { forget(aTHX_ false, place); }

/* Called before a PSGI application. Also removes the variables of mod_perl's API, because modules
 * would otherwise try to use the API. */
void mehari_environment_of_process(pTHX) { forget(aTHX_ true, NULL); }

void mehari_environment_without_request(pTHX)
{
  forget(aTHX_ false, NULL);
  if (!mehari_now.frame->variable_count)
    return;
  set_variables(aTHX_ GvHVn(PL_envgv));
  is_bare = is_without_api = false;
}

/* Called once per worker, after the fork. %ENV holds only the variables to pass on. */
void mehari_environment_open(pTHX)
{
  mehari_variables_open(aTHX);
  mehari_loose_names = newAV();
  mehari_base_open(aTHX_ GvHVn(PL_envgv));
}
