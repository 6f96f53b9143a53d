/* A request for Perl: the record behind `$r`. */
#ifndef MEHARI_RECORD_H
#define MEHARI_RECORD_H

#include "mailbox/mailbox.h"
#include "phases/settings.h"

/* record.c: `$r`. One record for the current request, and one for each of its sub-requests and
 * internal redirects. */
enum {
  MEHARI_REC_CONTENT_TYPE, MEHARI_REC_URI, MEHARI_REC_FILENAME, MEHARI_REC_PATH_INFO, MEHARI_REC_ARGS, MEHARI_REC_METHOD, MEHARI_REC_PROTOCOL, MEHARI_REC_UNPARSED_URI,
  MEHARI_REC_HOSTNAME, MEHARI_REC_THE_REQUEST, MEHARI_REC_HANDLER, MEHARI_REC_CONTENT_ENCODING, MEHARI_REC_USER,
  MEHARI_REC_AUTH_TYPE, MEHARI_REC_STATUS_LINE, MEHARI_REC_TEXT_COUNT
};
enum {
  MEHARI_TABLE_HEADERS_IN, MEHARI_TABLE_HEADERS_OUT, MEHARI_TABLE_ERR_HEADERS_OUT, MEHARI_TABLE_NOTES, MEHARI_TABLE_SUBPROCESS_ENV,
  MEHARI_TABLE_DIR_CONFIG,
  MEHARI_TABLE_COUNT
};
typedef struct mehari_table mehari_table; /* api/api.h */
typedef struct {
  mehari_table *table; /* NULL: not asked for yet */
  SV *object;          /* what Perl code has of it */
  bool is_filled;      /* for this request */
} mehari_held_table;
enum { /* of `numbers` */
  MEHARI_NUMBER_ASSBACKWARDS, MEHARI_NUMBER_NO_CACHE, MEHARI_NUMBER_NO_LOCAL_COPY, MEHARI_NUMBER_PROXYREQ, MEHARI_NUMBER_MTIME,
  MEHARI_NUMBER_ALLOWED, MEHARI_NUMBER_USED_PATH_INFO, MEHARI_NUMBER_COUNT
};
typedef struct mehari_rec mehari_rec;
struct mehari_rec {
  UV serial; /* what its `$r` refers to; no other request ever has the same */
  mehari_rec *main; /* of a sub-request: what it is part of */
  mehari_rec *prev, *next; /* internal redirects */
  mehari_rec *recalled; /* what it was before the front led it here, once somebody asks; NULL: nobody has */
  int filtered_from; /* of a sub-request: the place of its main request's filter that its answer goes through first, and 1; 0: through none */
  mehari_rec *older; /* all that live, the newest first */
  SV *object; /* its `$r`; NULL: nobody asked */
  mehari_job job; /* the frame it came with; of the current one it is mehari_now */
  mehari_request *own_frame; /* made here, not the front's slot; NULL: none */
  mehari_job came; /* where it is restated: as it came */
  mehari_request *restated; /* the frame as handlers before the response have left the request; NULL: as it came */
  const mehari_settings *settings; /* NULL: nothing is configured for Perl here */
  mehari_job merged; /* of the location that `location_merge` put in force: who may come is what it says; its frame NULL: none */
  SV *texts[MEHARI_REC_TEXT_COUNT]; /* NULL: not asked for yet, or undef; use mehari_rec_text */
  U32 changed; /* a bit for each text that a handler set */
  U32 held; /* a bit for each text that is there */
  bool has_handlers; /* some of its own */
  bool is_admitted; /* whoever asks may */
  bool is_early; /* handlers before the response run: as in Apache, `SetEnv` comes after them */
  bool is_unmerged; /* `location_merge` has not found its location */
  SV *user_told; /* whom the front knows to be asking; NULL: nobody was told of */
  bool listens; /* it was handed back, and its log wants to know what came of it */
  uint32_t answers; /* that the front had given by then */
  bool is_told; /* what came of it */
  uint64_t bytes_told;
  mehari_held_table tables[MEHARI_TABLE_COUNT]; /* use mehari_rec_table */
  int status; /* 0: nobody set it, 200 */
  AV *handlers[MEHARI_PHASE_COUNT]; /* what push_handlers and set_handlers made of the settings'; NULL: as configured */
  AV *cleanups; /* of $r->pool->cleanup_register: code, argument, code, argument ... */
  HV *pnotes;
  HV *slots; /* what the API's Perl part keeps for the length of the request */
  IV numbers[MEHARI_NUMBER_COUNT];
  HV *documents; /* of custom_response: status => text */
  SV *redirect; /* path and query of what the front is to answer instead */
};
extern mehari_rec *mehari_rec_now; /* what Apache2::RequestUtil->request answers; NULL: no request is served */
mehari_rec *mehari_rec_answering(void); /* the record whose head is the answer's */
void mehari_request_boot(pTHX);
mehari_rec *mehari_rec_begin(pTHX); /* for mehari_now */
typedef struct {
  mehari_text method; /* empty: GET */
  mehari_text target; /* path and query */
  const mehari_text *file; /* that a handler chose for it, or NULL */
  bool is_same; /* it is the same request, under another path */
  bool has_body; /* it is another request with this one's body */
} mehari_question;
/* The frame that would answer a path; otherwise like this request. NULL: unknown. Free it, or
 * give it to a record. */
mehari_request *mehari_lookup(mehari_rec *like, const mehari_question *question);
void mehari_rec_open_phases(mehari_rec *rec);
void mehari_rec_close_phases(pTHX_ mehari_rec *rec); /* the variables of `SetEnv` are set */
/* From here on the frame contains the handlers' changes of fields, variables, method and query. */
void mehari_rec_restate(pTHX_ mehari_rec *rec);
void mehari_rec_forget_restated(mehari_rec *rec);
/* Whether a variable of `subprocess_env` came with the request unchanged. */
bool mehari_rec_came_with(const mehari_job *job, mehari_text name, mehari_text value);
void mehari_rec_adopt(pTHX_ mehari_rec *rec, mehari_request *frame); /* the record is from now on of this frame */
mehari_rec *mehari_rec_new(pTHX_ mehari_request *frame); /* a further one */
void mehari_rec_enter(mehari_rec *rec); /* it is the current one */
SV *mehari_rec_object(pTHX_ mehari_rec *rec); /* its `$r`, not mortal and not counted up */
mehari_rec *mehari_rec_of(pTHX_ SV *self); /* dies when `self` is not the `$r` of a request that is still served */
SV *mehari_rec_text(pTHX_ mehari_rec *rec, int which); /* NULL: undef; belongs to the record */
void mehari_rec_set_text(pTHX_ mehari_rec *rec, int which, SV *value);
mehari_table *mehari_rec_table(mehari_rec *rec, int which);
SV *mehari_rec_table_object(pTHX_ mehari_rec *rec, int which); /* a new reference to its APR::Table */
AV *mehari_rec_handlers(mehari_rec *rec, int phase); /* NULL: none */
AV *mehari_rec_own_handlers(pTHX_ mehari_rec *rec, int phase); /* for change: a copy of the configured ones at first */
int mehari_rec_phase(pTHX_ SV *name); /* dies when there is none of that name */
/* push_handlers and set_handlers: a name, code, or an array of them. undef removes all. */
void mehari_rec_stack(pTHX_ mehari_rec *rec, SV *name, SV *handlers, bool anew);
bool mehari_rec_option(mehari_rec *rec, U8 option); /* MEHARI_OPTION_* holds for this request */
SV *mehari_rec_document(pTHX_ mehari_rec *rec, int status); /* of custom_response; NULL: none */
void mehari_rec_add_error_head(mehari_rec *rec, int status); /* the lines that go with a page of the front's */
void mehari_rec_run_cleanups(pTHX_ mehari_rec *rec);
void mehari_request_drop(pTHX);
void mehari_request_fill_head(pTHX); /* for mehari_output_fill_head */
void mehari_request_complete_head(pTHX); /* what $r says beside a printed head */

#endif
