/* Reports the parts of a traced request's time to the front (`mehari trace`). Only the front's
 * frame says whether a request is traced, so nothing that a request sends can. */
#ifndef MEHARI_TRACE_H
#define MEHARI_TRACE_H

#include "mehari.h"
#include "mailbox/wire.h"

/* Whether the current request is traced. While it is false, the rest of this folder does not
 * run. */
extern bool mehari_traced;

/* Called when a process takes a request, and before the process reports the request's end. */
void mehari_trace_begin(bool traced);
void mehari_trace_end(void);

/* Returns the start of a part: nanoseconds of CLOCK_MONOTONIC, and 0 if the request is not
 * traced. */
uint64_t mehari_trace_begin_part(void);
static inline uint64_t mehari_trace_start(void) { return UNLIKELY(mehari_traced) ? mehari_trace_begin_part() : 0; }

/* Reports a part that began at `start` and ends now. The name joins `what`, a space and `which`.
 * Nothing is reported if `start` is 0. */
void mehari_trace_report(int kind, uint64_t start, const char *what, mehari_text which);
static inline void mehari_trace_part(int kind, uint64_t start, const char *what, mehari_text which)
{
  if (UNLIKELY(start != 0))
    mehari_trace_report(kind, start, what, which);
}

/* exact.c: whether Devel::NYTProf measures the requests of this process. Only the zygote asks, with
 * mehari_exact_open, before it loads the site's modules. */
extern bool mehari_exact;
void mehari_exact_open(pTHX);
/* Called around what a request runs. */
void mehari_exact_begin_request(pTHX);
void mehari_exact_end_request(pTHX);
static inline void mehari_exact_begin(pTHX) { if (UNLIKELY(mehari_exact)) mehari_exact_begin_request(aTHX); }
static inline void mehari_exact_end(pTHX) { if (UNLIKELY(mehari_exact)) mehari_exact_end_request(aTHX); }

/* parts.c, for this folder: the time, and sending a part. */
uint64_t mehari_trace_time(void);
void mehari_trace_send(int kind, mehari_part part, const mehari_text *name, int count);
/* loading.c: times `require` while a request is traced. */
void mehari_trace_loading(bool on);
/* statements.c: times the methods of DBI while a request is traced. DBI may be loaded at any time,
 * so mehari_trace_statements looks for it again. */
void mehari_trace_statements(pTHX);
void mehari_trace_statements_end(void);
/* statements.c: sends the fetches that were counted together. */
void mehari_trace_send_fetches(void);

#endif
