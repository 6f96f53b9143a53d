/* Finds the names of variables. The names of header fields' variables, and keys that are used
 * often, are made and hashed once. */
#include "environment/environment.h"
#include "environment/names.h"

/* A field's name as a client wrote it, and the variable of the field. Several spellings share a
 * variable. */
typedef struct {
  mehari_pin *variable;
  U8 length; /* 0: the place is free */
  char name[55];
} spelling;

/* The number of places, a power of two. At most half of the places are used, so that each search
 * ends. */
#define SPELLINGS (2 * MEHARI_FIELD_PINS)
MEHARI_LARGE static spelling spellings[SPELLINGS];
MEHARI_WRITTEN_FIRST static mehari_pin field_pins[MEHARI_FIELD_PINS];
static int spelling_count, field_pin_count;

void mehari_pin_make(pTHX_ mehari_pin *this, const char *name, STRLEN length)
{
  this->request = 0;
  PERL_HASH(this->hash, name, length);
  this->key = newSVpvn_share(name, length, this->hash);
}

static bool is_named(mehari_text field, const char *name)
{
  return field.length == strlen(name) && !strncasecmp(field.at, name, field.length);
}

/* Writes the name of a header field's variable. */
STRLEN mehari_variable_name(char *into, size_t room, mehari_text field)
{
  STRLEN prefix = is_named(field, "Content-Type") || is_named(field, "Content-Length") ? 0 : 5;
  if (room < prefix || field.length > room - prefix)
    return 0;
  memcpy(into, "HTTP_", prefix);
  for (STRLEN i = 0; i < field.length; i++) {
    if (field.at[i] != '-' && !isALPHANUMERIC_A(field.at[i]))
      return 0;
    into[prefix + i] = field.at[i] == '-' ? '_' : toUPPER(field.at[i]);
  }
  return prefix + field.length;
}

mehari_pin *mehari_pin_of_variable(pTHX_ const char *name, STRLEN length)
{
  SV *key;
  U32 hash;
  PERL_HASH(hash, name, length);
  key = newSVpvn_share(name, length, hash);
  for (int i = 0; i < field_pin_count; i++)
    /* Shared strings are equal if their addresses are equal. */
    if (SvPVX(field_pins[i].key) == SvPVX(key)) {
      SvREFCNT_dec(key);
      return &field_pins[i];
    }
  mehari_pin *this = MEHARI_NEXT(field_pins, field_pin_count);
  if (this)
    *this = (mehari_pin){key, hash, 0};
  else
    SvREFCNT_dec(key);
  return this;
}

/* Returns the pin of a header field's variable. NULL: the name is too long, or there are too many
 * different names. */
mehari_pin *mehari_field_pin(pTHX_ const char *name, STRLEN length)
{
  if (!length || length > sizeof spellings[0].name)
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
  STRLEN variable_length = mehari_variable_name(variable, sizeof variable, (mehari_text){name, length});
  mehari_pin *this = variable_length ? mehari_pin_of_variable(aTHX_ variable, variable_length) : NULL;
  if (!this)
    return NULL;
  spelling_count++;
  memcpy(spellings[at].name, name, length);
  spellings[at].length = length;
  return spellings[at].variable = this;
}

SV *mehari_environment_key(pTHX_ const char *name, STRLEN length, U32 *hash)
{
  mehari_pin *this = mehari_field_pin(aTHX_ name, length);
  if (this) {
    *hash = this->hash;
    return this->key;
  }
  char variable[512];
  STRLEN variable_length = mehari_variable_name(variable, sizeof variable, (mehari_text){name, length});
  *hash = 0;
  return variable_length ? newSVpvn_flags(variable, variable_length, SVs_TEMP) : NULL;
}
