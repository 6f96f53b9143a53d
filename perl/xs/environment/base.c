/* Keeps the variables that the worker itself passes on: PATH, TZ, and those of PerlPassEnv. C
 * libraries read these variables too, so they stand in environ as well as in %ENV. */
#include "environment/parts.h"

static struct { SV *key, *value; U32 hash; } *base;
static STRLEN base_count, own_count;

STRLEN mehari_base_count(void) { return base_count; }
STRLEN mehari_base_own_count(void) { return own_count; }

bool mehari_is_base(pTHX_ SV *key, SV *value)
{
  for (STRLEN i = 0; i < base_count; i++)
    if (sv_eq(base[i].key, key))
      return !value || sv_eq(base[i].value, value);
  return false;
}

/* Restores the variables that a script has changed. Stores them with magic, so that environ changes
 * too. */
void mehari_base_store(pTHX_ HV *env)
{
  for (STRLEN i = 0; i < base_count; i++) {
    HE *entry = hv_fetch_ent(env, base[i].key, 0, base[i].hash);
    if (entry && SvPOK(HeVAL(entry)) && sv_eq(HeVAL(entry), base[i].value))
      continue;
    STRLEN length;
    const char *value = SvPV(base[i].value, length);
    mehari_environment_store(aTHX_ env, base[i].key, base[i].hash, value, length);
    my_setenv(SvPV_nolen(base[i].key), value);
  }
}

void mehari_base_open(pTHX_ HV *env)
{
  STRLEN count = hv_iterinit(env);
  Newx(base, count, __typeof__(*base));
  HE *entry;
  while (base_count < count && (entry = hv_iternext(env))) {
    STRLEN length;
    const char *name = HePV(entry, length);
    U32 hash;
    PERL_HASH(hash, name, length);
    base[base_count].key = newSVpvn_share(name, length, hash);
    base[base_count].hash = hash;
    base[base_count].value = newSVsv(HeVAL(entry));
    own_count += !mehari_is_fixed(aTHX_ base[base_count].key);
    base_count++;
  }
}
