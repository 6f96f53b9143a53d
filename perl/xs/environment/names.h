/* Names of variables, shared by the files of %ENV. */
#ifndef MEHARI_NAMES_H
#define MEHARI_NAMES_H

#include "mehari.h"

/* A pin: a variable whose key is made only once. */
typedef struct {
  SV *key;
  U32 hash;
  U32 request; /* the number of the last request that set the variable */
} mehari_pin;

#define MEHARI_FIELD_PINS 128
void mehari_pin_make(pTHX_ mehari_pin *this, const char *name, STRLEN length);
/* NULL: there are too many variables. */
mehari_pin *mehari_pin_of_variable(pTHX_ const char *name, STRLEN length);
/* Returns the pin of a header field's variable. NULL: the field has no variable, or there are too
 * many. */
mehari_pin *mehari_field_pin(pTHX_ const char *name, STRLEN length);
/* Writes the name of a field's variable and returns the length. 0: the field has no variable. As in
 * Apache, the field `X_Y` has none, because it could imitate `X-Y`. */
STRLEN mehari_variable_name(char *into, size_t room, mehari_text field);

#endif
