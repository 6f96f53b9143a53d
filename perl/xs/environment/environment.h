/* %ENV: the variables of a request. */
#ifndef MEHARI_ENVIRONMENT_H
#define MEHARI_ENVIRONMENT_H

#include "mehari.h"
#include "mailbox/mailbox.h"

struct mehari_table; /* api/api.h */
void mehari_environment_open(pTHX);
void mehari_environment_begin(pTHX);
void mehari_environment_reserve(pTHX); /* places for what every request and most browsers set */
void mehari_environment_set(pTHX_ mehari_text name, mehari_text value); /* one variable more of this request */
void mehari_environment_forget(pTHX_ const mehari_job *place); /* before a request that gets none but what `PerlSetEnv` says */
void mehari_environment_of_process(pTHX); /* before a PSGI application's */
/* The variable of a header field and its hash (0: unknown). NULL: the name is too long. */
SV *mehari_environment_key(pTHX_ const char *name, STRLEN length, U32 *hash);
void mehari_environment_export(pTHX); /* to `environ`, for the child process about to start */
void mehari_environment_restore(void);
/* Values that handlers store in %ENV before the response: saved after the handlers, and restored
 * for the responder. */
void mehari_environment_note_early(pTHX);
void mehari_environment_set_early(pTHX);
void mehari_environment_forget_early(void);
const struct mehari_table *mehari_environment_early(void); /* NULL: nothing */
void mehari_environment_without_request(pTHX); /* `PerlSetupEnv Off`: what the configuration sets, and no more */
bool mehari_environment_is_bare(void); /* it has nothing of a request */
/* Adds a request's variables in %ENV that a table lacks. `set_up`: sets %ENV first. */
void mehari_environment_into(pTHX_ struct mehari_table *table, bool set_up);

#endif
