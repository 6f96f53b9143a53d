/* A request for Perl: the record behind `$r`. */
#ifndef MEHARI_RECORD_H
#define MEHARI_RECORD_H

#include "mailbox/mailbox.h"
#include "phases/settings.h"

/* record.c: `$r`. There is one record for the current request, and one for each of its sub-requests
 * and internal redirects. */
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
  mehari_table *table; /* NULL: not used yet */
  SV *object; /* the table as Perl code sees it */
  bool is_filled; /* whether it has this request's values */
} mehari_held_table;
enum { /* indices of `numbers` */
  MEHARI_NUMBER_ASSBACKWARDS, MEHARI_NUMBER_NO_CACHE, MEHARI_NUMBER_NO_LOCAL_COPY, MEHARI_NUMBER_PROXYREQ, MEHARI_NUMBER_MTIME,
  MEHARI_NUMBER_ALLOWED, MEHARI_NUMBER_USED_PATH_INFO, MEHARI_NUMBER_COUNT
};
typedef struct mehari_rec mehari_rec;
struct mehari_rec {
  UV serial; /* the number to which its `$r` refers; no other request ever has the same number */
  mehari_rec *main; /* a sub-request's outer request; NULL: this is no sub-request */
  mehari_rec *prev, *next; /* internal redirects */
  /* The record of the request before the front's redirect. NULL: not needed yet. */
  mehari_rec *recalled;
  /* The record of the page with server-side includes of which the request is a part. NULL: not
   * needed yet. */
  mehari_rec *page;
  bool is_type_of_filter; /* whether an output filter has set the content type */
  bool is_included; /* whether the sub-request is a part that its page, `main`, has included */
  /* The response of a sub-request passes filters of the main request. This is the place of the
   * first of these filters, counted from 1. 0: the response passes none. */
  int filtered_from;
  mehari_rec *older; /* links all living records, the newest first */
  SV *object; /* its `$r`; NULL: not made yet */
  mehari_job job; /* the request's frame; for the current record the same as mehari_now */
  /* A frame made in this process, not in a slot of the front; NULL: none. */
  mehari_request *own_frame;
  SV *chosen_file; /* the file that a handler chose for the path of `own_frame`; NULL: none */
  bool is_untranslated; /* whether `$r->uri` is the path before the server's rules */
  bool is_unmapped; /* whether `$r` has no file yet, because the path is not translated */
  bool is_for_index; /* whether the phases of a folder's index are running */
  bool is_at_folder; /* whether `$r` is about the folder, not about its index */
  bool is_at_place; /* whether `own_frame` is about the place that the front has found for the request */
  mehari_job came; /* if handlers changed the request: its frame before the changes */
  /* The frame with the changes of the handlers before the response. NULL: unchanged. */
  mehari_request *restated;
  const mehari_settings *settings; /* NULL: the place has no settings for Perl */
  /* The results of the access rules are taken from this job if its frame is not NULL, otherwise
   * from `job`. The job is about the location that `location_merge` put in force, or about the
   * request as handlers have changed it. */
  mehari_job merged;
  SV *texts[MEHARI_REC_TEXT_COUNT]; /* NULL: not used yet, or undef; read by mehari_rec_text */
  U32 changed; /* a bit for each text that a handler set */
  U32 held; /* a bit for each text that was read */
  bool has_handlers; /* whether handlers were pushed or set for this request */
  bool is_admitted; /* whether access is granted without a check */
  /* Whether handlers before the response are running. As in Apache, the variables of `SetEnv` are
   * set after these handlers. */
  bool is_early;
  /* Whether the variables of `PerlSetEnv` are not set yet. As in mod_perl, those of a sub-request's
   * place are set before its first handler of a place. */
  bool lacks_perl_env;
  bool is_merged; /* whether `merged` is the job of a location that `location_merge` put in force */
  bool is_unmerged; /* whether `location_merge` did not find its location */
  SV *user_reported; /* the user that the front was told; NULL: none */
  bool listens; /* whether the request was handed back and its Log handlers wait for the outcome */
  uint32_t answers; /* the number of the front's answers when the request was handed back */
  bool has_outcome; /* whether the outcome is known */
  /* Whether the front was told what the access line says, or that it waits for Log handlers. */
  bool is_announced;
  uint64_t bytes_of_front;
  mehari_held_table tables[MEHARI_TABLE_COUNT]; /* read by mehari_rec_table */
  int status; /* 0: not set, which means 200 */
  /* The handlers after push_handlers or set_handlers. NULL: the configured handlers apply. */
  AV *handlers[MEHARI_PHASE_COUNT];
  /* The functions of $r->pool->cleanup_register: code, argument, code, argument ... */
  AV *cleanups;
  HV *pnotes;
  HV *slots; /* the data that the API's Perl part keeps for the request */
  IV numbers[MEHARI_NUMBER_COUNT];
  HV *documents; /* of custom_response: status => text */
  SV *redirect; /* path and query of the resource to which the request is redirected; of a sub-request: while it runs */
};
/* The record that Apache2::RequestUtil->request returns; NULL: no request is served. */
extern mehari_rec *mehari_rec_now;
mehari_rec *mehari_rec_of_head(void); /* the record that makes the head of the response */
void mehari_request_boot(pTHX);
mehari_rec *mehari_rec_begin(pTHX); /* makes the record of mehari_now */
typedef struct {
  mehari_text method; /* empty: GET */
  mehari_text target; /* path and query */
  const mehari_text *file; /* the file that a handler chose for the target, or NULL */
  bool is_same; /* whether the question is about the same request under another path */
  bool has_body; /* whether the new request gets this request's body */
  bool is_led; /* whether an internal redirect leads to the target */
  bool is_sub; /* whether the question is about a sub-request */
  bool is_handled; /* whether the sub-request's handlers have run, and the fixup rules are asked for */
  bool is_own; /* whether the question is about the asking request itself */
  mehari_text user; /* the user of the request in question; empty: none */
} mehari_question;
/* Returns the frame of a request that differs from this request only in its path. The front's rules
 * see the request as the handlers have left it. NULL: the front gave no frame. The caller frees the
 * frame or gives it to a record. */
mehari_request *mehari_lookup(mehari_rec *like, const mehari_question *question);
/* Makes a frame from the texts about the client in one frame and the texts about the path in
 * another. `is_same`: both are about one request. */
mehari_request *mehari_merged(const mehari_job *client, const mehari_job *path, bool is_same, bool has_body);
void mehari_rec_set_perl_env(mehari_rec *rec); /* sets the variables of `PerlSetEnv`, if they are not set yet */
void mehari_rec_open_phases(mehari_rec *rec);
/* Called when the variables of `SetEnv` are set. */
void mehari_rec_close_phases(pTHX_ mehari_rec *rec);
/* Writes the handlers' changes of fields, variables, method and query into a new frame. */
void mehari_rec_restate(pTHX_ mehari_rec *rec);
/* Whether handlers have changed fields, variables, method or query. */
bool mehari_rec_is_changed(pTHX_ mehari_rec *rec);
/* Returns the method of `$r->method_number`. `$r->method` does not change it. */
mehari_text mehari_rec_numbered_method(pTHX_ mehari_rec *rec);
void mehari_rec_forget_restated(mehari_rec *rec);
/* Whether the job's frame has a variable with this name and value. */
bool mehari_rec_had_variable(const mehari_job *job, mehari_text name, mehari_text value);
/* Makes this frame the record's frame. */
void mehari_rec_adopt(pTHX_ mehari_rec *rec, mehari_request *frame);
mehari_rec *mehari_rec_new(pTHX_ mehari_request *frame); /* makes a further record */
mehari_rec *mehari_rec_newest(void); /* the record that was made last */
/* Ends the records that were made after this one. None of them may be in use. */
void mehari_rec_end_newer(pTHX_ const mehari_rec *than);
void mehari_rec_enter(mehari_rec *rec); /* makes it the current record */
/* Returns the record's `$r`, neither mortal nor with a counted reference. */
SV *mehari_rec_object(pTHX_ mehari_rec *rec);
/* Dies unless `self` is the `$r` of a request that is being served. */
mehari_rec *mehari_rec_of(pTHX_ SV *self);
SV *mehari_rec_text(pTHX_ mehari_rec *rec, int which); /* NULL: undef; the record owns the text */
/* Whether the request is a sub-request, or a part of a page that the front sends. */
bool mehari_rec_is_within(const mehari_rec *rec);
/* Returns the client's target (REQUEST_URI). Redirects and sub-requests have the same. */
mehari_text mehari_rec_asked(const mehari_rec *rec);
/* Whether `$r->uri` is the path of the target, as in Apache until the path has been translated. */
void mehari_rec_show_target(pTHX_ mehari_rec *rec, bool shows);
void mehari_rec_show_file(pTHX_ mehari_rec *rec, bool shows); /* whether `$r` has the file to which the path leads */
/* Whether `$r` is about the folder whose index the request has got, as in Apache until the fixup
 * phase has ended. */
void mehari_rec_show_folder(pTHX_ mehari_rec *rec, bool shows);
void mehari_rec_set_text(pTHX_ mehari_rec *rec, int which, SV *value);
/* Returns Content-Language. An empty text: none. */
mehari_text mehari_rec_languages(pTHX_ mehari_rec *rec);
mehari_table *mehari_rec_table(mehari_rec *rec, int which);
SV *mehari_rec_table_object(pTHX_ mehari_rec *rec, int which); /* a new reference to its APR::Table */
AV *mehari_rec_handlers(mehari_rec *rec, int phase); /* NULL: none */
/* Returns the handlers for changes, at first a copy of the configured handlers. */
AV *mehari_rec_own_handlers(pTHX_ mehari_rec *rec, int phase);
/* Returns the phase of a name. -1: no phase has this name, and the log has a line about the
 * name. */
int mehari_rec_phase(pTHX_ SV *name);
/* push_handlers and set_handlers. `handlers` is a name, code, or an array of names and code. undef
 * removes all handlers. Returns false if no phase has this name. */
bool mehari_rec_stack(pTHX_ mehari_rec *rec, SV *name, SV *handlers, bool anew);
/* Whether the option MEHARI_OPTION_* is on for this request. */
bool mehari_rec_option(mehari_rec *rec, U8 option);
/* Returns the text of custom_response for a status. NULL: none. */
SV *mehari_rec_document(pTHX_ mehari_rec *rec, int status);
/* Whether a text of custom_response is the page itself, not a path or URL. */
bool mehari_is_document_text(mehari_text document);
/* Adds the header lines for a page that the front makes. */
void mehari_rec_add_error_head(mehari_rec *rec, int status);
void mehari_rec_run_cleanups(pTHX_ mehari_rec *rec);
void mehari_request_drop(pTHX);
void mehari_request_fill_head(pTHX); /* called by mehari_output_fill_head */
void mehari_request_complete_head(pTHX); /* adds the fields of $r to a printed head */

#endif
