/* Forms: query strings, urlencoded bodies and multipart bodies. Error numbers are libapreq2's. */
#ifndef MEHARI_FORM_H
#define MEHARI_FORM_H

#include "api/api.h"

enum {
  MEHARI_FORM_OK = 0,
  MEHARI_FORM_UPLOADS_DISABLED = 120000,
  MEHARI_FORM_BAD_DATA = 120010,
  MEHARI_FORM_BAD_SEQUENCE = 120012,
  MEHARI_FORM_BAD_HEADER = 120014,
  MEHARI_FORM_NO_DATA = 120020,
  MEHARI_FORM_NO_BOUNDARY = 120022,
  MEHARI_FORM_NO_PARSER = 120024,
  MEHARI_FORM_OVER_LIMIT = 120031,
};

/* A part of a multipart body that has a file name. */
typedef struct {
  char *name;
  STRLEN name_length;
  mehari_table *info; /* the header lines of the part */
  char *file_name;
  STRLEN file_name_length;
  size_t offset, length; /* the place of the upload's bytes within the body */
} mehari_upload;
typedef struct {
  mehari_upload *at;
  int count, capacity;
} mehari_uploads;
void mehari_uploads_free(mehari_uploads *uploads);

/* The largest number of parameters of a form. There is a limit because each parameter costs many
 * times its own length in memory. */
#define MEHARI_FORM_PARAMETERS 100000

/* form.c: parses a text like `a=1&b=2`. Parameters before an error stay in the table. */
int mehari_form_urlencoded(mehari_table *into, mehari_text text);
/* Decodes into `into`, which is as long as `text`. Returns the length, or -1 for a broken
 * escape. */
ssize_t mehari_form_decode(char *into, mehari_text text);

/* multipart.c: parses multipart/form-data. An upload is also a parameter, with the file name as its
 * value. */
int mehari_form_multipart(mehari_table *into, mehari_uploads *uploads, mehari_text body, mehari_text boundary);
/* Finds the value of `key=` in a header's value, without quotes. False: there is no such key. */
bool mehari_form_attribute(mehari_text header, const char *key, mehari_text *value);

void mehari_form_boot(pTHX);
void mehari_form_forget(pTHX); /* called at the end of a request */
/* Returns the status for the error in $@: the status that a form's error names, or 500 for any
 * other error. */
int mehari_form_error_status(pTHX);

#endif
