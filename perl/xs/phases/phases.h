/* Perl's handlers in Apache's order, within one dispatch. */
#ifndef MEHARI_PHASES_H
#define MEHARI_PHASES_H
#include "request/record.h"

enum { OK = 0, DECLINED = -1, DONE = -2 };

void mehari_phase_check_output(pTHX_ const char *method); /* croaks before the response phase */
extern const char *mehari_phase_now; /* the directive of the handler that runs; NULL: none does */
bool mehari_phases_serve(pTHX); /* false: not begun */
/* Sub-requests and internal redirects. A sub-request passes its phases up to the response when
 * it is made. */
mehari_rec *mehari_rec_sub(pTHX_ mehari_rec *main, mehari_text target, const mehari_text *file, mehari_text method); /* NULL: refused by the front */
int mehari_rec_run(pTHX_ mehari_rec *sub); /* its body follows what was printed; OK or a status */
void mehari_rec_redirect(pTHX_ mehari_rec *rec, mehari_text target, int status); /* another answers; status: why, 0 for no error */
SV *mehari_handler_code(pTHX_ SV *handler); /* what a handler's name stands for; the name when that is not to be found */
void mehari_rec_fail(pTHX_ int status); /* the current request answers this status instead of what was printed */
int mehari_run_phase(pTHX_ mehari_rec *rec, int phase); /* what the last handler answered: OK 0, DECLINED -1, DONE -2, a status */
SV *mehari_rec_connection(pTHX_ mehari_rec *rec); /* its `$r->connection`; belongs to the record */
/* Runs the handlers of every server. Returns NULL, or the reason of a refusal. */
const char *mehari_run_server_phase(pTHX_ int phase);

/* A handler has set this text (MEHARI_REC_*). */
static inline bool mehari_is_changed(const mehari_rec *rec, int which) { return rec->changed & (1u << which); }

static inline mehari_text mehari_text_of(pTHX_ SV *sv)
{
  mehari_text text = {"", 0};
  if (sv)
    text.at = SvPV(sv, text.length);
  return text;
}

static inline bool mehari_is_of_a_worker(const mehari_request *frame)
{
  return frame->task == MEHARI_TASK_HANDLER || frame->task == MEHARI_TASK_REGISTRY || frame->task == MEHARI_TASK_PERLRUN;
}

/* admission.c. DECLINED: continue with the response. DONE: the response is complete. Otherwise a
 * status. */
int mehari_rec_prepare(pTHX_ mehari_rec *rec);
int mehari_rec_admit(pTHX_ mehari_rec *rec);
/* `$r->location_merge`: from here on that location's settings apply. False: there is none, and
 * everybody is refused. */
bool mehari_rec_merge(pTHX_ mehari_rec *rec, mehari_text location);
int mehari_rec_check(pTHX_ mehari_rec *rec, int phase); /* `$r->run_access_checker` and its like: Perl's handlers, and what the configuration says */

/* subrequests.c: the nesting depth of sub-requests. Those of filters have no record between
 * them. */
extern int mehari_subrequests_running;

/* redirects.c: the status of the error whose page this record answers; 0: none. */
int mehari_rec_error(const mehari_rec *rec);
/* The request before an internal redirect (`$r->prev`). NULL: the client's own request. */
mehari_rec *mehari_rec_before(pTHX_ mehari_rec *rec);
/* The client's own request: neither part of another one nor redirected. */
bool mehari_rec_is_initial(const mehari_rec *rec);

/* requirement.c: evaluates `Require` for a user, or (NULL) without one. No requirement grants. */
typedef enum { MEHARI_GRANTED, MEHARI_DENIED, MEHARI_NEEDS_USER } mehari_verdict;
mehari_verdict mehari_verdict_on(pTHX_ mehari_rec *rec, SV *user);

/* connections.c. DECLINED: continue with the request's phases. DONE: the connection is over.
 * Otherwise a status. */
void mehari_connections_boot(pTHX);
int mehari_connection_serve(pTHX_ mehari_rec *rec);

/* phases.c */
bool mehari_rec_logs(mehari_rec *rec); /* its Log handlers run once it is answered */
bool mehari_rec_cleans_up(mehari_rec *rec);
bool mehari_rec_respond(pTHX_ mehari_rec *rec); /* false: not begun */
void mehari_rec_end(pTHX_ mehari_rec *rec, int status);
bool mehari_rec_is_perls(pTHX_ mehari_rec *rec, U8 task);
void mehari_rec_open_environment(pTHX_ mehari_rec *rec);
void mehari_rec_export_variables(pTHX_ mehari_rec *rec);

/* hand_back.c */
SV *mehari_rec_target(pTHX_ SV *path, SV *query); /* mortal */
void mehari_rec_hand_back(pTHX_ mehari_rec *rec, int status);
bool mehari_rec_send_file(pTHX_ mehari_rec *rec); /* through its output filters; false: it has none, or is no such file */
void mehari_rec_hear(pTHX_ mehari_rec *rec); /* what became of it, where the front was told that somebody asks */

void mehari_rec_tell_user(pTHX_ mehari_rec *rec); /* user.c */

/* redirects.c. Whether the limit of redirects and sub-requests is reached. `how` describes the
 * next one for the log. */
bool mehari_rec_is_too_deep(const mehari_rec *rec, const char *how, mehari_text target);
/* Another frame answers. status: the reason, 0 for no error. */
void mehari_rec_follow(pTHX_ mehari_rec *rec, mehari_request *frame, int status);

#endif
