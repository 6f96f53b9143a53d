/* The phases of a request: Perl's handlers in Apache's order. */
#ifndef MEHARI_PHASES_H
#define MEHARI_PHASES_H
#include "request/record.h"

enum { OK = 0, DECLINED = -1, DONE = -2 };

/* Croaks in a phase before the response. `method` is the method of `$r` that was called. */
void mehari_phase_check_output(pTHX_ const char *method);
/* The directive of the handler that runs; NULL: no handler runs. */
extern const char *mehari_phase_now;
bool mehari_phases_serve(pTHX); /* false: the request was not begun */
/* Sub-requests and internal redirects. mehari_rec_sub makes a sub-request and runs its phases
 * before the response. */
/* NULL: the front refused the sub-request. */
mehari_rec *mehari_rec_sub(pTHX_ mehari_rec *main, mehari_text target, const mehari_text *file, mehari_text method);
/* Runs a sub-request. Its body follows the output printed so far. Returns OK or a status. */
int mehari_rec_run(pTHX_ mehari_rec *sub);
/* Lets another resource respond. `status`: the error's status, or 0. */
void mehari_rec_redirect(pTHX_ mehari_rec *rec, mehari_text target);
/* Stores the reason in `error-notes`, where an error document can find it, as mod_perl does. */
void mehari_rec_note_error(mehari_rec *rec, mehari_text reason);
/* Returns the code of a handler's name, or the name itself if no code is found. */
SV *mehari_handler_code(pTHX_ SV *handler);
/* Ends the current request with this status in place of the printed output. */
void mehari_rec_fail(pTHX_ int status);
/* Adds the status's text of `$r->custom_response` to the body. False: there is no such text. */
bool mehari_rec_append_document(pTHX_ mehari_rec *rec, int status);
/* Runs the handlers of a phase. Returns the last handler's result: OK 0, DECLINED -1, DONE -2, or a
 * status. */
int mehari_run_phase(pTHX_ mehari_rec *rec, int phase);
SV *mehari_rec_connection(pTHX_ mehari_rec *rec); /* its `$r->connection`; the record owns it */
/* Runs the handlers of every server. Returns NULL, or the reason of a refusal. */
const char *mehari_run_server_phase(pTHX_ int phase);

/* Whether a handler has set this text (MEHARI_REC_*). */
static inline bool mehari_is_changed(const mehari_rec *rec, int which) { return rec->changed & (1u << which); }

static inline mehari_text mehari_text_of(pTHX_ SV *sv)
{
  mehari_text text = {"", 0};
  if (sv)
    text.at = SvPV(sv, text.length);
  return text;
}

static inline bool mehari_is_for_interpreter(const mehari_request *frame)
{
  return frame->task == MEHARI_TASK_HANDLER || frame->task == MEHARI_TASK_REGISTRY || frame->task == MEHARI_TASK_PERLRUN;
}

/* admission.c. DECLINED: continue with the response. DONE: the response is complete. Otherwise a
 * status. */
int mehari_rec_prepare(pTHX_ mehari_rec *rec);
int mehari_rec_admit(pTHX_ mehari_rec *rec);
/* `$r->location_merge`: puts the settings of that location in force. False: the location does not
 * exist, and access is refused to everybody. */
bool mehari_rec_merge(pTHX_ mehari_rec *rec, mehari_text location);
/* `$r->run_access_checker` and similar methods: runs Perl's handlers and the rules of the
 * configuration. */
int mehari_rec_check(pTHX_ mehari_rec *rec, int phase);

/* subrequests.c: the nesting depth of sub-requests. It cannot be counted from the records, because
 * sub-requests that filters make are not linked with each other. */
extern int mehari_subrequests_running;

/* lookup.c. Begins a page and returns its first actions. */
mehari_text mehari_begin_page(pTHX_ mehari_rec *page, mehari_page_step step);
/* page.c. Prints a page that the front makes as the response of a sub-request. `kind`: how the page
 * begins (MEHARI_PAGE_*). Returns OK, the status with which the page fails, or MEHARI_PAGE_PLAIN if
 * the file has no includes. Sets the record's `redirect` if another path responds. */
int mehari_page_run(pTHX_ mehari_rec *page, uint8_t kind);
/* The number of pages that are being printed, each within the one before. */
extern int mehari_pages_running;

/* redirects.c: gives a redirected request the variables and the err_headers_out of the request
 * before. `error`: the status whose page the request makes, or 0. */
void mehari_rec_inherit(pTHX_ mehari_rec *rec, int error);
/* Returns the status of the error for which this record makes the page. 0: none. */
int mehari_rec_error(const mehari_rec *rec);
/* Returns the request before an internal redirect (`$r->prev`). NULL: this is the client's own
 * request. */
mehari_rec *mehari_rec_previous(pTHX_ mehari_rec *rec);
/* Whether this is the client's own request: neither a sub-request nor a redirected request. */
bool mehari_rec_is_initial(const mehari_rec *rec);

/* requirement.c: evaluates `Require` for a user. NULL: without a user. `known`: the front's
 * results. If there is no requirement, access is granted. */
typedef enum { MEHARI_GRANTED, MEHARI_DENIED, MEHARI_NEEDS_USER } mehari_verdict;
mehari_verdict mehari_requirement_verdict(pTHX_ mehari_rec *rec, SV *user, uint64_t known);

/* requirement.c: what `Satisfy` says of the request's method: Apache2::Const's SATISFY_*. */
enum { MEHARI_SATISFY_ALL, MEHARI_SATISFY_ANY, MEHARI_SATISFY_NOSPEC };
int mehari_rec_satisfies(pTHX_ mehari_rec *rec);

/* connections.c. DECLINED: continue with the request's phases. DONE: the connection is over.
 * Otherwise a status. */
void mehari_connections_boot(pTHX);
int mehari_connection_serve(pTHX_ mehari_rec *rec);

/* deferred.c: calls after the response. */
void mehari_deferred_boot(pTHX);
bool mehari_deferred_is_kept(pTHX); /* whether the request keeps code to call */
void mehari_deferred_run(pTHX); /* calls the kept code */
void mehari_deferred_forget(pTHX); /* called at the end of a request */
bool mehari_deferred_serve(pTHX); /* serves a frame with the task MEHARI_TASK_DEFERRED */

/* phases.c */
const char *mehari_method_name(IV number); /* the method of Apache's M_*; NULL: none of HTTP's */
bool mehari_rec_logs(mehari_rec *rec); /* whether the record has Log handlers to run */
bool mehari_rec_cleans_up(mehari_rec *rec);
/* Parses the settings of this frame and resolves their handlers before any request is served. */
void mehari_phases_prepare(pTHX_ const mehari_request *frame);
bool mehari_rec_respond(pTHX_ mehari_rec *rec); /* false: the request was not begun */
void mehari_rec_end(pTHX_ mehari_rec *rec, int status);
bool mehari_rec_runs_in_perl(pTHX_ mehari_rec *rec, U8 task);
void mehari_rec_open_environment(pTHX_ mehari_rec *rec);
void mehari_rec_export_variables(pTHX_ mehari_rec *rec);

/* hand_back.c */
SV *mehari_rec_target(pTHX_ SV *path, SV *query); /* mortal */
/* Returns the target of the place that the front has found for the request, whatever path handlers
 * have set since. The query is that of the handlers. The result is mortal. */
SV *mehari_rec_found_at(pTHX_ mehari_rec *rec);
void mehari_rec_hand_back(pTHX_ mehari_rec *rec, int status);
/* Tells the front the handlers' changes of a request that Perl answers or refuses, for header rules
 * and logs. */
void mehari_rec_report_changes(pTHX_ mehari_rec *rec);
/* Tells the front what the response handler has changed before it responds, if the elements of
 * server-side includes in the response may show its variables. */
void mehari_rec_report_for_filters(pTHX_ mehari_rec *rec);
/* Returns the handlers' changes as parts of a MEHARI_RECORD_PASS. The result is mortal and has no
 * bytes if nothing is changed. `with_place`: a path that a handler has chosen is included. */
SV *mehari_rec_changes(pTHX_ mehari_rec *rec, bool with_place);
/* Returns what the request in question gets from this request, as parts of a MEHARI_RECORD_PASS:
 * the fields, the variables, and the user. The result is mortal. */
SV *mehari_rec_handed_on(pTHX_ mehari_rec *rec, const mehari_question *question);

/* Adds a part to the payload of a MEHARI_RECORD_PASS. */
void mehari_part_add(SV *payload, char kind, const char *at, STRLEN length);
/* Adds the names and values of a table, each with a NUL behind it. */
void mehari_pairs_add(SV *pairs, const mehari_table *table);

/* logged.c. Tells the front, before the response of the current request ends, what the access line
 * says, and whether it waits for Log handlers. */
void mehari_rec_tell_log(pTHX);
/* Runs the Log handlers and tells the front what they have changed. */
void mehari_rec_run_log(pTHX_ mehari_rec *rec);

/* rules.c. Whether rules that choose the place come after the handlers of this phase. */
bool mehari_rec_has_place_rules(pTHX_ mehari_rec *rec, int phase);
/* Finds the place again, if the handlers of the phase have changed what these rules read.
 * `answered`: the handlers' result. Returns OK or a status. */
int mehari_rec_find_place(pTHX_ mehari_rec *rec, int phase, int answered);
/* Asks the front for rules (MEHARI_LEFT_*). Returns false if there is no answer. */
bool mehari_rec_ask_rules(pTHX_ mehari_rec *rec, uint16_t which, mehari_job *answer);

/* limits.c. Applies the limits of the place that handlers have found. Returns OK or a status. */
int mehari_rec_hold_limits(pTHX_ mehari_rec *rec);
/* Sets the variables of `SetEnvIf`, and evaluates the access rules, for a request that
 * handlers have changed. Both return OK or a status. */
int mehari_rec_set_variables(pTHX_ mehari_rec *rec);
int mehari_rec_check_again(pTHX_ mehari_rec *rec);
/* Evaluates `Require` again after authentication, if its result may differ. Sets `known` to the
 * front's results. Returns OK or a status. */
int mehari_rec_authorize_again(pTHX_ mehari_rec *rec, uint64_t *known);
/* Applies the rules of the fixup phase after its handlers. Returns DECLINED to go on, DONE if the
 * response is complete, or a status. */
int mehari_rec_fix_up(pTHX_ mehari_rec *rec);
void mehari_table_take_lines(mehari_table *table, mehari_text lines); /* adds header lines */
void mehari_rec_take_lines(mehari_rec *rec, mehari_text lines); /* adds the header lines of a redirect */
/* Sends the request's file through the output filters. False: there are no filters, or the path has
 * no such file. */
bool mehari_rec_send_file(pTHX_ mehari_rec *rec);
/* Receives the outcome, if the front was told that the worker waits for it. */
void mehari_rec_receive_outcome(pTHX_ mehari_rec *rec);
void mehari_rec_hear_line(pTHX_ mehari_rec *rec, mehari_text line); /* a header line of the front's response */
mehari_text mehari_first_line(mehari_text *rest); /* without its end; the rest begins behind it */

/* The request continues as the request that a sub-request has found. False: there is no such
 * path. */
bool mehari_rec_become(pTHX_ mehari_rec *rec, mehari_rec *found);
/* Whether a handler has led the client's request to another path. */
bool mehari_rec_is_translated(const mehari_rec *rec);
bool mehari_rec_is_below_file(const mehari_rec *rec); /* the path goes on behind the front's file */
bool mehari_rec_is_proxied(pTHX_ mehari_rec *rec); /* a handler has named a back end: $r->filename("proxy:URL") */

/* fetch.c: the front answers, and Perl's filters process the answer. */
bool mehari_rec_fetches(mehari_rec *rec); /* filters wait for what the front answers, or have changed the body */
void mehari_rec_fetch(pTHX_ mehari_rec *rec, SV *payload); /* the parts of a MEHARI_RECORD_PASS */

void mehari_rec_report_user(pTHX_ mehari_rec *rec); /* user.c */
void mehari_rec_tell_user(pTHX_ mehari_rec *rec); /* even a user whom the front has authenticated itself */
/* Whether handlers have set a user before authentication. A name of `get_basic_auth_pw` is only
 * what the client claims. */
bool mehari_rec_has_user(pTHX_ mehari_rec *rec);
/* Whether the front knows the user as the handlers have set it. */
bool mehari_rec_is_user_known(pTHX_ mehari_rec *rec);

/* subrequests.c. Returns the request within which this one is made (`$r->main`), or NULL. */
mehari_rec *mehari_rec_main(pTHX_ mehari_rec *rec);

/* redirects.c. Sets the variables about the path of the request before an internal redirect. */
void mehari_rec_name_previous(pTHX_ mehari_rec *rec);
/* Whether the limit of redirects and sub-requests is reached. `how` names the next
 * redirect or sub-request in the log. */
bool mehari_rec_is_too_deep(const mehari_rec *rec, const char *how, mehari_text target);
/* Continues the request with another frame. `status`: the error's status, or 0. */
void mehari_rec_follow(pTHX_ mehari_rec *rec, mehari_request *frame, int error);

#endif
