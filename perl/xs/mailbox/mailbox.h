/* The current request, the ring for its response, and the log. */
#ifndef MEHARI_MAILBOX_H
#define MEHARI_MAILBOX_H

#include "mehari.h"
#include "mailbox/progress.h"
#include "mailbox/wire.h"

typedef struct {
  const mehari_request *frame;
  const char *base; /* the address to which the frame's spans relate */
  const mehari_pair *fields, *variables;
  const char *body;
  size_t body_length;
  int body_file; /* -1: none */
} mehari_job;
extern mehari_job mehari_now;
/* The place of the target's span in a frame. `mehari profile` reads this number and mehari_now. */
extern const uint64_t mehari_target_at;
extern bool mehari_serving; /* true from taking a request until its DONE */
extern bool mehari_in_child; /* true in a child that a script forked */

void mehari_mailbox_attach(int mailbox, int descriptors, int bell, int bell_event);
/* Gives the mailbox up in a child process of a script: the child keeps a copy of its request, and
 * neither the shared memory nor a descriptor of the server. */
void mehari_mailbox_leave(void);
/* Ends the use of the mailbox in the zygote after its warm-up. Workers attach mailboxes of their
 * own. */
void mehari_mailbox_detach(void);
/* The socket on which descriptors go to the front. A worker shares this socket with its
 * templates. */
extern int mehari_front_socket;
bool mehari_mailbox_take(void);  /* true: mehari_now is set */
/* Waits until there may be work; false: the front is gone, or wants the worker to end. */
bool mehari_mailbox_wait(void);
/* Whether the front wants the worker inspected, and what it wants to know. */
bool mehari_mailbox_wants_inspection(void);
bool mehari_mailbox_take_inspection(char order[MEHARI_INSPECTION_SIZE]);
/* What is known of taken requests. The worker lends its mailbox to a process of the rung `rewind`,
 * which claims requests itself. This knowledge goes with the mailbox. */
typedef struct {
  uint32_t count;
  uint64_t last_of_slot[MEHARI_SLOTS];
} mehari_taken;
/* Takes the next request without opening it. NULL: there is none. */
const mehari_request *mehari_mailbox_claim(void);
/* Opens a taken request: sets mehari_now. */
void mehari_mailbox_open(const mehari_request *claimed);
/* Lets mehari_mailbox_take return this request again, because the request's script has not
 * begun. */
void mehari_mailbox_return(const mehari_request *claimed);
/* Returns the number of taken requests that the mailbox shows. */
uint32_t mehari_mailbox_latest(void);
/* Whether the request that was taken last is done, whichever process has taken it. The front then
 * waits for nothing from this worker, so the worker may write no record. */
bool mehari_mailbox_latest_is_done(void);
/* Called after another process had the mailbox. Makes the knowledge of taken requests complete.
 * Returns the request that was taken last. NULL: this request is done. */
const mehari_request *mehari_mailbox_recover(void);
/* Called after the process that had the mailbox died, and before this process writes a record.
 * Wakes the front for records that the dead process may not have announced, and waits for the
 * answer to its last question. */
void mehari_mailbox_take_over(void);
/* Makes `place` the memory of the knowledge of taken requests. */
void mehari_mailbox_keep_taken(mehari_taken *place);
mehari_taken *mehari_mailbox_taken(void);
void mehari_mailbox_done(uint16_t detail); /* MEHARI_DONE_* */
/* Forgets the current request, because its own process has reported DONE. */
void mehari_mailbox_forget(void);
void mehari_mailbox_state(uint32_t state);
/* Called in a process that the worker forked. Sets the request to serve, and the request's body if
 * this process serves it. */
void mehari_mailbox_adopt(const mehari_request *frame, int body_file);
/* Replaces the frame of the request to serve by a frame in a file, and closes the file. */
bool mehari_mailbox_adopt_carried(int file);
int mehari_mailbox_file(void);
_Atomic uint32_t *mehari_mailbox_child(void); /* the process that serves on the rung `fork` */
/* Returns the offset of the slot whose request the worker has taken. */
uint32_t mehari_mailbox_offset(void);
bool mehari_mailbox_holds(const mehari_request *frame); /* whether `frame` is in that slot */
const mehari_request *mehari_mailbox_frame(uint32_t offset);
void mehari_mailbox_map_body(void);
/* Sends a file to the front, for the record that announces it. */
bool mehari_mailbox_send_file(int file);
/* Replaces the body by the output of the input filters. */
void mehari_mailbox_replace_body(mehari_text body);
/* Returns MEHARI_PROGRESS_* of the request that was taken last. Records in the ring change the
 * progress. mehari_mailbox_note changes it where no record is written. */
uint32_t mehari_mailbox_progress(void);
void mehari_mailbox_note(uint32_t progress);
/* Called in a template's child before a request. */
void mehari_mailbox_begin(void);
bool mehari_client_has_left(void); /* whether nobody gets the current request's response */
uint32_t mehari_mailbox_number(void); /* of the current request, in the order of taken requests */
/* Returns the text of a span. The text of a span outside of the frame is empty. Used many times per
 * request. */
static inline mehari_text mehari_job_text(const mehari_job *job, mehari_span span)
{
  uint32_t length = job->frame->length;
  if (span.offset > length || span.length > length - span.offset)
    return (mehari_text){"", 0};
  return (mehari_text){job->base + span.offset, span.length};
}
static inline void mehari_job_read(mehari_job *job, const mehari_request *frame)
{
  job->frame = frame;
  job->base = (const char *)frame;
  job->fields = (const mehari_pair *)(frame + 1);
  job->variables = job->fields + frame->field_count;
}
static inline mehari_text mehari_span_text(mehari_span span) { return mehari_job_text(&mehari_now, span); }
static inline mehari_text mehari_request_text(int which) { return mehari_span_text(mehari_now.frame->text[which]); }
/* The outcome of a response that the front gave in place of this process (MEHARI_PASS_LISTENS).
 * mehari_receive_outcome waits until the front has given more than `before` answers. False: the
 * outcome is unknown. The head lasts until the next question. */
typedef struct {
  int status;
  uint64_t bytes;
  mehari_text head;
} mehari_response_outcome;
uint32_t mehari_answer_count(void); /* the number of answers that the front has ever given */
bool mehari_receive_outcome(uint32_t before, mehari_response_outcome *outcome);
/* Asks the front and waits. NULL: there is no answer. The frame lasts until the next question. */
const mehari_request *mehari_ask(uint16_t server, const mehari_text *parts, int count);
/* Asks the front for rules that read the request after handlers (MEHARI_LEFT_*). NULL: the rules
 * change nothing. */
const mehari_request *mehari_ask_rules(uint16_t which, mehari_text changes);
/* Asks for the next actions of a page (MEHARI_RECORD_PAGE). No bytes: the page ends. The actions
 * last until the next question. */
mehari_text mehari_ask_page(uint16_t server, const mehari_text *parts, int count);
/* Gives the call of a named sub to the front and waits. False: the front has no room. */
bool mehari_defer(const mehari_text *parts, int count);
/* Writes one record, which joins the `parts`. Blocks while the ring is full. */
void mehari_ring_put(uint16_t kind, uint16_t detail, const mehari_text *parts, int count);
void mehari_ring_publish(void);
/* Whether lines on descriptor 2 begin with their level: the front reads them. */
extern bool mehari_log_levels;
void mehari_log(int level, const char *text, STRLEN length);
void mehari_logf(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether a script gets one process per request, or an equivalent. */
static inline bool mehari_task_is_program(uint8_t task)
{
  return task == MEHARI_TASK_FORK || task == MEHARI_TASK_REWIND || task == MEHARI_TASK_AUTO;
}

#endif
