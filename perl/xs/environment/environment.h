/* %ENV: the variables of a request. */
#ifndef MEHARI_ENVIRONMENT_H
#define MEHARI_ENVIRONMENT_H

#include "mehari.h"
#include "mailbox/mailbox.h"

struct mehari_table; /* api/api.h */
struct mehari_rec; /* request/record.h */
void mehari_environment_open(pTHX);
void mehari_environment_begin(pTHX);
/* Makes places for the variables of every request and of most browsers. */
void mehari_environment_reserve(pTHX);
/* Called before a template's picture: brings together the texts of the request's variables. */
void mehari_environment_move(pTHX);
/* Makes places for the header fields' variables that this request and most others have. */
void mehari_environment_expect(pTHX_ const mehari_request *frame);
/* Sets one more variable of this request. */
void mehari_environment_set(pTHX_ mehari_text name, mehari_text value);
/* Called before a request without variables. Leaves of the request only the location's
 * `PerlSetEnv`. */
void mehari_environment_forget(pTHX_ const mehari_job *place);
void mehari_environment_of_process(pTHX); /* before the request of a PSGI application */
/* Returns the key of a header field's variable, and the key's hash (0: unknown). NULL: the name is
 * too long. */
SV *mehari_environment_key(pTHX_ const char *name, STRLEN length, U32 *hash);
/* Copies %ENV to `environ`, for the child process that starts next. */
void mehari_environment_export(pTHX);
void mehari_environment_restore(void);
/* Values that handlers store in %ENV before the response: saved after the handlers, and restored
 * for the responder. */
void mehari_environment_note_early(pTHX);
void mehari_environment_set_early(pTHX);
void mehari_environment_forget_early(void);
const struct mehari_table *mehari_environment_early(void); /* NULL: handlers have stored none */
/* For `PerlSetupEnv Off`: leaves only the configuration's variables. */
void mehari_environment_without_request(pTHX);
bool mehari_environment_is_bare(void); /* whether %ENV has no variable of a request */
/* Adds to `subprocess_env` the request's variables in %ENV that the table lacks, except those that
 * handlers have removed from the table. `set_up`: sets %ENV first. */
void mehari_environment_into(pTHX_ struct mehari_rec *rec, bool set_up);

#endif
