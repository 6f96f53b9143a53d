/* Keeps the progress of a request in words that outlive the process that serves the request.
 *
 * The kernel may kill that process after any instruction. Each step is therefore a single store,
 * and what a reader sees before and after the store is right:
 *
 *   step                                store
 *   the request is taken                `word`
 *   its script begins                   `progress`
 *   a record is in the ring, and the    `ring_written`: `next_progress` holds from here on, as it
 *   progress that the record means      was prepared for positions above `next_progress_at`
 *
 * A progress names its request, so the progress of an earlier request counts as none. */
#include "mailbox/progress.h"

static uint64_t pair(uint32_t request, uint32_t progress) { return (uint64_t)request << 32 | progress; }

/* Returns the progress that is in force. All processes see the words change in the order of the
 * program. */
static uint64_t in_force(const mehari_mailbox *box)
{
  bool has_next = atomic_load(&box->ring_written) > atomic_load_explicit(&box->next_progress_at, memory_order_acquire);
  return atomic_load_explicit(has_next ? &box->next_progress : &box->progress, memory_order_acquire);
}

uint32_t mehari_progress_read(const mehari_mailbox *box, uint32_t request)
{
  uint64_t now = in_force(box);
  return (uint32_t)(now >> 32) == request ? (uint32_t)now : MEHARI_PROGRESS_NONE;
}

void mehari_progress_note(mehari_mailbox *box, uint32_t request, uint32_t progress)
{
  /* If the next progress is in force, only the second store makes this progress the one in
   * force. */
  atomic_store_explicit(&box->progress, pair(request, progress), memory_order_release);
  atomic_store_explicit(&box->next_progress_at, UINT64_MAX, memory_order_release);
}

static uint32_t progress_after(uint16_t record)
{
  switch (record) {
  case MEHARI_RECORD_HEAD:
  case MEHARI_RECORD_TAP:
    return MEHARI_PROGRESS_HEAD;
  case MEHARI_RECORD_RESPONSE:
  case MEHARI_RECORD_END:
  case MEHARI_RECORD_PASS:
    return MEHARI_PROGRESS_COMPLETE;
  case MEHARI_RECORD_DONE:
    return MEHARI_PROGRESS_DONE;
  default:
    return MEHARI_PROGRESS_NONE;
  }
}

void mehari_progress_prepare(mehari_mailbox *box, uint32_t request, uint16_t record)
{
  uint32_t next = progress_after(record);
  if (!next)
    return;
  /* The progress in force stays the same until the record is visible. */
  atomic_store_explicit(&box->progress, in_force(box), memory_order_release);
  atomic_store_explicit(&box->next_progress_at, atomic_load(&box->ring_written), memory_order_release);
  atomic_store_explicit(&box->next_progress, pair(request, next), memory_order_release);
}

void mehari_progress_settle(mehari_mailbox *box)
{
  atomic_store_explicit(&box->progress, in_force(box), memory_order_release);
  atomic_store_explicit(&box->next_progress_at, UINT64_MAX, memory_order_release);
}

void mehari_question_note(mehari_mailbox *box)
{
  /* The stored number is one greater than the position, so that 0 means no question. */
  atomic_store_explicit(&box->question_at, atomic_load(&box->ring_written) + 1, memory_order_release);
  atomic_store_explicit(&box->question_before, atomic_load(&box->answered), memory_order_release);
}

bool mehari_question_is_open(const mehari_mailbox *box)
{
  uint64_t at = atomic_load(&box->question_at);
  return at && atomic_load(&box->ring_written) >= at && atomic_load(&box->answered) == atomic_load(&box->question_before);
}
