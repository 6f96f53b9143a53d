/* Names of variables, shared by the files of %ENV. */
#ifndef MEHARI_NAMES_H
#define MEHARI_NAMES_H

#include "mehari.h"

/* A variable with a key made once. */
typedef struct {
  SV *key;
  U32 hash;
  U32 request; /* the last request that set it */
} mehari_pin;

#define MEHARI_FIELD_PINS 128
void mehari_pin_make(pTHX_ mehari_pin *this, const char *name, STRLEN length);
mehari_pin *mehari_pin_of_variable(pTHX_ const char *name, STRLEN length); /* NULL: there are too many */
mehari_pin *mehari_field_pin(pTHX_ const char *name, STRLEN length); /* of a header field; NULL: it has none */
STRLEN mehari_variable_name(char *into, size_t room, mehari_text field); /* 0: the field has none, as in Apache: `X_Y` would stand for `X-Y` */

#endif
