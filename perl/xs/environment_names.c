/* Names of variables: the one that a header field becomes, and keys that are made and hashed once. */
#include "environment.h"

/* A spelling of a field's name, and the variable it becomes: other spellings share the variable. */
typedef struct {
  mehari_pin *variable;
  U8 length; /* 0: the place is free */
  char name[55];
} spelling;

#define SPELLINGS (2 * MEHARI_FIELD_PINS) /* a power of two; half of it is used */
static spelling spellings[SPELLINGS];
static mehari_pin field_pins[MEHARI_FIELD_PINS];
static int spelling_count, field_pin_count;

void mehari_pin_make(pTHX_ mehari_pin *this, const char *name, STRLEN length)
{
  this->request = 0;
  PERL_HASH(this->hash, name, length);
  this->key = newSVpvn_share(name, length, this->hash);
}

/* The variable a header field becomes. */
STRLEN mehari_variable_name(char *into, const char *name, STRLEN length)
{
  STRLEN at = 0;
  if ((length == 12 && !strncasecmp(name, "Content-Type", 12)) || (length == 14 && !strncasecmp(name, "Content-Length", 14)))
    ;
  else {
    memcpy(into, "HTTP_", 5);
    at = 5;
  }
  for (STRLEN i = 0; i < length; i++)
    into[at++] = name[i] == '-' ? '_' : toUPPER(name[i]);
  return at;
}

mehari_pin *mehari_pin_of_variable(pTHX_ const char *name, STRLEN length)
{
  SV *key;
  U32 hash;
  PERL_HASH(hash, name, length);
  key = newSVpvn_share(name, length, hash);
  for (int i = 0; i < field_pin_count; i++)
    if (SvPVX(field_pins[i].key) == SvPVX(key)) { /* shared strings are equal when they are the same */
      SvREFCNT_dec(key);
      return &field_pins[i];
    }
  mehari_pin *this = &field_pins[field_pin_count++];
  *this = (mehari_pin){key, hash, 0};
  return this;
}

/* NULL: too many different names have been seen, or this one is too long. */
mehari_pin *mehari_field_pin(pTHX_ const char *name, STRLEN length)
{
  if (length > sizeof spellings[0].name)
    return NULL;
  U32 at = (U32)length * 31;
  for (STRLEN i = 0; i < length; i += 3)
    at = at * 33 + (U8)name[i];
  at = (at * 33 + (U8)name[length - 1]) & (SPELLINGS - 1);
  while (spellings[at].length) {
    if (spellings[at].length == length && memEQ(spellings[at].name, name, length))
      return spellings[at].variable;
    at = (at + 1) & (SPELLINGS - 1);
  }
  if (spelling_count >= MEHARI_FIELD_PINS)
    return NULL;
  char variable[64];
  STRLEN variable_length = mehari_variable_name(variable, name, length);
  spelling_count++;
  memcpy(spellings[at].name, name, length);
  spellings[at].length = length;
  spellings[at].variable = mehari_pin_of_variable(aTHX_ variable, variable_length);
  return spellings[at].variable;
}

SV *mehari_environment_key(pTHX_ const char *name, STRLEN length, U32 *hash)
{
  mehari_pin *this = mehari_field_pin(aTHX_ name, length);
  if (this) {
    *hash = this->hash;
    return this->key;
  }
  char variable[512];
  if (length > sizeof variable - 6)
    return NULL;
  *hash = 0;
  STRLEN variable_length = mehari_variable_name(variable, name, length);
  return newSVpvn_flags(variable, variable_length, SVs_TEMP);
}
