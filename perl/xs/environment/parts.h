/* What the files of %ENV share. */
#ifndef MEHARI_ENVIRONMENT_PARTS_H
#define MEHARI_ENVIRONMENT_PARTS_H

#include "mehari.h"

/* environment.c: the names of this request that have no pin. */
extern AV *mehari_loose_names;

/* base.c: the variables that the worker itself passes on: PATH, TZ, PerlPassEnv. */
void mehari_base_open(pTHX_ HV *env); /* %ENV holds nothing else */
void mehari_base_store(pTHX_ HV *env);
STRLEN mehari_base_count(void);
STRLEN mehari_base_own_count(void); /* how many of these variables no request sets */
/* Whether one of these variables has this name and this value; NULL: any value. */
bool mehari_is_base(pTHX_ SV *key, SV *value);

/* variables.c: the variables of a request. */
void mehari_variables_open(pTHX);
/* Sets the variables of mehari_now, and removes the variables that only the last request had. */
void mehari_variables_set(pTHX_ HV *env);
void mehari_variables_forget(void); /* %ENV has no optional variable any more */
STRLEN mehari_variables_count(void);
bool mehari_is_fixed(pTHX_ SV *key); /* whether every request sets the variable */
/* The variables by which programs detect mod_perl's API. */
void mehari_variables_set_api(pTHX_ HV *env);
bool mehari_is_api(pTHX_ SV *key);

static inline bool mehari_is_plain(SV *value)
{
  return SvREFCNT(value) == 1 && SvTYPE(value) >= SVt_PV && SvTYPE(value) <= SVt_PVMG && !SvROK(value) && !SvREADONLY(value) && !SvIsCOW(value);
}

static inline bool mehari_is_text(SV *value, const char *text, STRLEN length)
{
  U32 kind = SvFLAGS(value) & (SVf_IOK | SVf_NOK | SVf_POK | SVf_ROK | SVp_IOK | SVp_NOK | SVp_POK | SVf_UTF8);
  return kind == (SVf_POK | SVp_POK) && SvCUR(value) == length && memEQ(SvPVX(value), text, length);
}

/* Stores a value without magic, in place if possible. Used many times per request. */
static inline void mehari_environment_store(pTHX_ HV *env, SV *key, U32 hash, const char *value, STRLEN length)
{
  HE *entry = hv_fetch_ent(env, key, 0, hash);
  /* A value that stays is not written, because writing unshares the memory's page. */
  if (entry && !TAINTING_get && mehari_is_plain(HeVAL(entry)) && mehari_is_text(HeVAL(entry), value, length))
    return;
  if (entry && mehari_is_plain(HeVAL(entry))) {
    sv_setpvn(HeVAL(entry), value, length);
    SvUTF8_off(HeVAL(entry));
    SvTAINTED_off(HeVAL(entry));
  } else
    entry = hv_store_ent(env, key, newSVpvn(value, length), hash);
  if (TAINTING_get && entry)
    SvTAINTED_on(HeVAL(entry));
}

#endif
