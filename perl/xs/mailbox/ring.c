/* Writes the worker's records to the ring, and waits for the front's answers.
 *
 * The handshakes are the same as in server/wire. The layout is in wire.h. */
#include "mailbox/attached.h"
#include "mailbox/progress.h"
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

MEHARI_WRITTEN static bool unpublished;

void mehari_futex_wait(_Atomic uint32_t *word, uint32_t value)
{
  static const struct timespec patience = {.tv_sec = 5};
  syscall(SYS_futex, word, FUTEX_WAIT, value, &patience, NULL, 0);
}

/* The socket may still have a message: the file of a request that the front has taken back. */
bool mehari_front_is_gone(void)
{
  struct pollfd front = {.fd = mehari_front_socket, .events = POLLRDHUP};
  return poll(&front, 1, 0) > 0 && front.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL);
}

static void ring_copy(uint64_t at, const void *bytes, size_t length)
{
  size_t offset = at % MEHARI_RING_SIZE, first = MEHARI_RING_SIZE - offset;
  if (length <= first) {
    mehari_bytes(mehari_mailbox_memory.ring + offset, bytes, length);
    return;
  }
  mehari_bytes(mehari_mailbox_memory.ring + offset, bytes, first);
  mehari_bytes(mehari_mailbox_memory.ring, (const char *)bytes + first, length - first);
}

static uint64_t ring_room(void)
{
  uint64_t written = atomic_load_explicit(&mehari_box->ring_written, memory_order_relaxed);
  return MEHARI_RING_SIZE - (written - atomic_load(&mehari_box->ring_read));
}

static void ring_wait_for(uint64_t needed)
{
  while (ring_room() < needed) {
    mehari_ring_publish();
    atomic_store(&mehari_box->worker_waits_for_room, 1);
    if (ring_room() < needed)
      mehari_futex_wait(&mehari_box->worker_waits_for_room, 1);
    atomic_store(&mehari_box->worker_waits_for_room, 0);
    if (ring_room() < needed && mehari_front_is_gone())
      _exit(0);
  }
}

void mehari_ring_put(uint16_t kind, uint16_t detail, const mehari_text *parts, int count)
{
  size_t length = 0;
  for (int i = 0; i < count; i++)
    length += parts[i].length;
  /* The caller is wrong. The front would treat this record as invalid and kill the worker. */
  if (length > MEHARI_RECORD_LIMIT) {
    static const char text[] = "mehari worker: a record is too long\n";
    (void)!write(2, text, sizeof text - 1);
    _exit(72);
  }
  uint64_t whole = sizeof(mehari_record) + ((length + 7) & ~UINT64_C(7));
  if (ring_room() < whole)
    ring_wait_for(whole);
  uint64_t at = atomic_load_explicit(&mehari_box->ring_written, memory_order_relaxed);
  mehari_record record = {(uint32_t)length, kind, detail};
  ring_copy(at, &record, sizeof record);
  uint64_t next = at + sizeof record;
  for (int i = 0; i < count; i++) {
    ring_copy(next, parts[i].at, parts[i].length);
    next += parts[i].length;
  }
  /* Dekker's algorithm: the worker writes the record, and mehari_ring_publish then checks whether
   * the front sleeps. The front declares sleep and then scans the rings. */
  mehari_progress_prepare(mehari_box, mehari_mailbox_number(), kind);
  atomic_store(&mehari_box->ring_written, at + whole);
  unpublished = true;
}

static void ring_bell(void)
{
  uint64_t one = 1;
  (void)!write(mehari_mailbox_memory.bell_event, &one, sizeof one);
}

void mehari_ring_publish(void)
{
  if (!unpublished)
    return;
  unpublished = false;
  if (atomic_load(&mehari_mailbox_memory.bell->front_sleeps) != 1 || atomic_exchange(&mehari_mailbox_memory.bell->front_sleeps, 0) != 1)
    return;
  ring_bell();
}

uint32_t mehari_answer_count(void) { return atomic_load(&mehari_box->answered); }

/* Waits until the number of the front's answers exceeds `before`. */
static void wait_for_answer(uint32_t before)
{
  mehari_ring_publish();
  while (atomic_load(&mehari_box->answered) == before) {
    mehari_futex_wait(&mehari_box->answered, before);
    if (atomic_load(&mehari_box->answered) == before && mehari_front_is_gone())
      _exit(0);
  }
}

void mehari_mailbox_take_over(void)
{
  mehari_progress_settle(mehari_box);
  ring_bell();
  if (mehari_question_is_open(mehari_box))
    wait_for_answer(atomic_load(&mehari_box->question_before));
}

bool mehari_receive_outcome(uint32_t before, mehari_response_outcome *outcome)
{
  wait_for_answer(before);
  const mehari_outcome_frame *frame = (const mehari_outcome_frame *)((char *)mehari_box + MEHARI_ANSWER_OFFSET);
  if (frame->length < sizeof *frame || frame->length > MEHARI_ANSWER_SIZE || !frame->status)
    return false;
  *outcome = (mehari_response_outcome){frame->status, frame->bytes, {(const char *)(frame + 1), frame->length - sizeof *frame}};
  return true;
}

bool mehari_defer(const mehari_text *parts, int count)
{
  uint32_t before = mehari_answer_count();
  mehari_response_outcome outcome;
  mehari_question_note(mehari_box);
  mehari_ring_put(MEHARI_RECORD_DEFER, MEHARI_DEFER_CALL, parts, count);
  return mehari_receive_outcome(before, &outcome) && outcome.status == 202;
}

/* Asks and waits for the answer. NULL: this process may not ask. */
static const char *answer(uint16_t kind, uint16_t detail, const mehari_text *parts, int count)
{
  if (!mehari_serving || mehari_in_child)
    return NULL;
  uint32_t before = mehari_answer_count();
  mehari_question_note(mehari_box);
  mehari_ring_put(kind, detail, parts, count);
  wait_for_answer(before);
  return (const char *)mehari_box + MEHARI_ANSWER_OFFSET;
}

static const mehari_request *ask(uint16_t kind, uint16_t detail, const mehari_text *parts, int count)
{
  const mehari_request *frame = (const mehari_request *)answer(kind, detail, parts, count);
  return frame && mehari_frame_is_sound(frame, MEHARI_ANSWER_SIZE) ? frame : NULL;
}

const mehari_request *mehari_ask(uint16_t server, const mehari_text *parts, int count)
{
  return ask(MEHARI_RECORD_ASK, server, parts, count);
}

const mehari_request *mehari_ask_rules(uint16_t which, mehari_text changes)
{
  return ask(MEHARI_RECORD_RULES, which, &changes, 1);
}

mehari_text mehari_ask_page(uint16_t server, const mehari_text *parts, int count)
{
  const char *at = answer(MEHARI_RECORD_PAGE, server, parts, count);
  uint32_t length = 0;
  if (at)
    memcpy(&length, at, sizeof length);
  if (length < sizeof length || length > MEHARI_ANSWER_SIZE)
    return (mehari_text){"", 0};
  return (mehari_text){at + sizeof length, length - sizeof length};
}
