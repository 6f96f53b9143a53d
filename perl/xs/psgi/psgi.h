/* The rung `psgi`. Each of the first functions serves mehari_now and leaves a response. */
#ifndef MEHARI_PSGI_H
#define MEHARI_PSGI_H

#include "mailbox/mailbox.h"

void mehari_psgi_boot(pTHX);
void mehari_psgi_open(pTHX);
void mehari_psgi_serve(pTHX);
int mehari_psgi_within(pTHX); /* a sub-request's; the status that the application gave, 0: none */
extern PerlIO_funcs mehari_psgi_input_layer;

/* Shared by the files of this folder. */
typedef enum { MEHARI_PSGI_UNANSWERED, MEHARI_PSGI_STREAMING, MEHARI_PSGI_ANSWERED } mehari_psgi_phase;

/* psgi.c: the request being served. */
extern UV mehari_psgi_serial; /* names it; never 0 */
extern mehari_psgi_phase mehari_psgi_now;
void mehari_psgi_check(pTHX_ UV serial); /* dies when that request has ended */

/* app.c: applications, loaded once per file. Dies with Perl's reason. */
SV *mehari_psgi_app(pTHX_ mehari_text file);

/* environment.c */
void mehari_psgi_environment_open(pTHX);
HV *mehari_psgi_environment(pTHX);
void mehari_psgi_environment_end(pTHX_ SV *environment); /* gives the reference up */

/* input.c: `psgi.input`. */
void mehari_psgi_input_open(pTHX);
SV *mehari_psgi_input(pTHX); /* a new reference */
void mehari_psgi_input_end(pTHX);

/* response.c: the application's response. All functions die, in the application's name, if it is
 * invalid. */
void mehari_psgi_respond(pTHX_ SV *response);       /* the three elements, or a callback */
SV *mehari_psgi_delayed(pTHX_ SV *response);        /* given to a responder: a writer, or undef */
void mehari_psgi_put(pTHX_ SV *part, bool at_once);  /* one part of a body */
void mehari_psgi_interim(pTHX_ SV *status, SV *headers); /* a 1xx response */

/* writer.c */
void mehari_psgi_descriptors_boot(pTHX); /* descriptors.c */
extern CV *mehari_psgi_run; /* serves one request; called under G_EVAL */
void mehari_psgi_serve_one(pTHX);

#endif
