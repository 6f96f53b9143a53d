/* Keeps the values that handlers store in %ENV before the response, and copies %ENV to `$r`'s
 * table. */
#include "environment/environment.h"
#include "environment/parts.h"
#include "api/api.h"

/* The variables that handlers before the response have stored in %ENV; NULL: no handler has ever
 * stored one. */
static mehari_table *early;

const mehari_table *mehari_environment_early(void) { return early; }

void mehari_environment_forget_early(void)
{
  if (early)
    mehari_table_clear(early);
}

static bool is_known(pTHX_ SV *key, SV *value)
{
  if (mehari_is_base(aTHX_ key, value) || mehari_is_api(aTHX_ key))
    return true;
  for (SSize_t i = 0; i <= av_top_index(mehari_loose_names); i++)
    if (sv_eq(AvARRAY(mehari_loose_names)[i], key))
      return true;
  return false;
}

void mehari_environment_note_early(pTHX)
{
  HV *env = GvHVn(PL_envgv);
  HE *entry;
  if (!mehari_environment_is_bare())
    return;
  hv_iterinit(env);
  while ((entry = hv_iternext(env))) {
    SV *key = hv_iterkeysv(entry), *value = HeVAL(entry);
    mehari_text name, text;
    if (!SvOK(value) || is_known(aTHX_ key, value))
      continue;
    name.at = SvPV(key, name.length);
    text.at = SvPV_nomg(value, text.length);
    if (!early)
      early = mehari_table_new();
    mehari_table_set(early, name, text);
  }
}

/* Restores the early variables. If the request itself has a variable of the same name, the
 * request's variable stays. */
void mehari_environment_set_early(pTHX)
{
  HV *env = GvHVn(PL_envgv);
  for (int i = 0; early && i < early->count; i++) {
    mehari_text name = {early->entries[i].name, early->entries[i].name_length};
    SV *key = sv_2mortal(newSVpvn(name.at, name.length));
    if (mehari_is_base(aTHX_ key, NULL) || !hv_exists_ent(env, key, 0))
      mehari_environment_set(aTHX_ name, (mehari_text){early->entries[i].value, early->entries[i].value_length});
  }
}

/* Whether the request came with the variable. */
static bool came_with(const mehari_rec *rec, mehari_text name)
{
  const mehari_job *job = rec->restated ? &rec->came : &rec->job;
  for (int i = 0; i < job->frame->variable_count; i++) {
    mehari_text known = mehari_job_text(job, job->variables[i].name);
    if (known.length == name.length && memEQ(known.at, name.at, name.length))
      return true;
  }
  return false;
}

void mehari_environment_into(pTHX_ mehari_rec *rec, bool set_up)
{
  mehari_table *table = mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV);
  if (set_up && mehari_environment_is_bare()) {
    mehari_environment_begin(aTHX);
    for (int i = 0; i < table->count; i++)
      mehari_environment_set(aTHX_ (mehari_text){table->entries[i].name, table->entries[i].name_length},
                             (mehari_text){table->entries[i].value, table->entries[i].value_length});
  }
  HV *env = GvHVn(PL_envgv);
  hv_iterinit(env);
  HE *entry;
  while ((entry = hv_iternext(env))) {
    STRLEN length;
    const char *name = HePV(entry, length);
    mehari_text key = {name, length}, value;
    bool is_passed_on = mehari_is_base(aTHX_ hv_iterkeysv(entry), NULL);
    /* As in mod_perl: values stored in %ENV before the response are only in %ENV. */
    bool is_early = early && mehari_table_find(early, key);
    if (is_passed_on || is_early || mehari_table_find(table, key) || came_with(rec, key) || !SvOK(HeVAL(entry)))
      continue;
    value.at = SvPV_nomg(HeVAL(entry), value.length);
    mehari_table_add(table, key, value);
  }
}
