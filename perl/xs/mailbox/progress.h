/* The progress of the request that a worker has taken last, as all processes of the worker see it.
 * mailbox.c stores the progress. The worker reads the progress after the end of a process that
 * served in the worker's place. */
#ifndef MEHARI_PROGRESS_H
#define MEHARI_PROGRESS_H

#include "mailbox/wire.h"
#include <stdbool.h>

enum {
  MEHARI_PROGRESS_NONE, /* taken; the script has not begun */
  MEHARI_PROGRESS_BEGUN,
  MEHARI_PROGRESS_HEAD, /* the head is sent, or the tap is open */
  MEHARI_PROGRESS_COMPLETE, /* the response is complete */
  MEHARI_PROGRESS_DONE /* DONE is sent */
};

/* `request`: the request's place in the order of taken requests. */
uint32_t mehari_progress_read(const mehari_mailbox *box, uint32_t request);
void mehari_progress_note(mehari_mailbox *box, uint32_t request, uint32_t progress);
/* Called before a record becomes visible in the ring. */
void mehari_progress_prepare(mehari_mailbox *box, uint32_t request, uint16_t record);
/* Called after the process that wrote records has died, and before another one writes. The dead
 * process may have prepared a record that never became visible, and the next record must not make
 * the progress of that one hold. */
void mehari_progress_settle(mehari_mailbox *box);

/* Called before an ASK record. */
void mehari_question_note(mehari_mailbox *box);
/* Whether the front will still answer the last question. */
bool mehari_question_is_open(const mehari_mailbox *box);

#endif
