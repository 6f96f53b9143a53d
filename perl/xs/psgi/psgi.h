/* The rung `psgi`. The functions that serve a request take it from mehari_now and leave a
 * response. */
#ifndef MEHARI_PSGI_H
#define MEHARI_PSGI_H

#include "mailbox/mailbox.h"

void mehari_psgi_boot(pTHX);
void mehari_psgi_open(pTHX);
void mehari_psgi_serve(pTHX);
/* Serves a sub-request. Returns the application's status, or 0 if there is none. */
int mehari_psgi_run_subrequest(pTHX);
extern PerlIO_funcs mehari_psgi_input_layer;

/* Shared by the files of this folder. */
typedef enum { MEHARI_PSGI_UNANSWERED, MEHARI_PSGI_STREAMING, MEHARI_PSGI_ANSWERED } mehari_psgi_phase;

/* psgi.c: the request being served. */
extern UV mehari_psgi_serial; /* the number of the request; never 0 */
extern mehari_psgi_phase mehari_psgi_now;
void mehari_psgi_check(pTHX_ UV serial); /* dies if that request has ended */

/* app.c: returns the application of a file, which is loaded once. Dies with Perl's reason if the
 * file cannot be loaded. */
SV *mehari_psgi_app(pTHX_ mehari_text file);

/* environment.c */
void mehari_psgi_environment_open(pTHX);
HV *mehari_psgi_environment(pTHX);
void mehari_psgi_environment_end(pTHX_ SV *environment); /* takes over the reference */

/* input.c: `psgi.input`. */
void mehari_psgi_input_open(pTHX);
SV *mehari_psgi_input(pTHX); /* a new reference */
void mehari_psgi_input_end(pTHX);

/* response.c: the application's response. The functions die if the response is invalid. The error
 * names a place in the application. */
void mehari_psgi_respond(pTHX_ SV *response);       /* the three elements, or a callback */
/* Takes a response that was given to a responder. Returns a writer, or undef. */
SV *mehari_psgi_delayed(pTHX_ SV *response);
void mehari_psgi_put(pTHX_ SV *part, bool at_once);  /* one part of a body */
void mehari_psgi_interim(pTHX_ SV *status, SV *headers); /* a 1xx response */

/* writer.c */
void mehari_psgi_descriptors_boot(pTHX); /* descriptors.c */
extern CV *mehari_psgi_run; /* serves one request; called under G_EVAL */
void mehari_psgi_serve_one(pTHX);

#endif
