/* The worker's end of its mailbox: taking requests, sleeping and waking. ring.c writes records.
 *
 * The handshakes are the same as in server/wire, which model-checks them. The layout is in
 * wire.h. */
#include "mailbox/attached.h"
#include "mailbox/progress.h"
#include "process/process.h"
#include "trace/trace.h"
#include <sys/mman.h>
#include <unistd.h>

mehari_attached mehari_mailbox_memory = {.bell_event = -1};
static int box_file = -1, bell_file = -1;
MEHARI_WRITTEN static const mehari_request *opened; /* the frame of the request that was taken last */
/* The worker's own record of the number of taken requests and of the last request of each slot. It
 * is not in the mailbox, because a script may overwrite the mailbox. In a template's child `taken`
 * is shared memory, and `own_taken` has only the number of the current request: a script may map
 * other memory over shared memory. */
MEHARI_WRITTEN static mehari_taken own_taken;
static mehari_taken *taken = &own_taken;
/* A request that another process took from the mailbox and did not begin. */
MEHARI_WRITTEN static const mehari_request *returned;

void mehari_mailbox_attach(int mailbox, int descriptor_socket, int bell_memory, int event)
{
  mehari_mailbox *box = mmap(NULL, MEHARI_MAILBOX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, mailbox, 0);
  mehari_bell *bell = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, bell_memory, 0);
  if (box == MAP_FAILED || bell == MAP_FAILED || box->magic != MEHARI_MAGIC || box->version != MEHARI_VERSION) {
    static const char text[] = "mehari worker: the mailbox cannot be mapped or is of another version\n";
    (void)!write(2, text, sizeof text - 1);
    _exit(70);
  }
  /* Makes the slots and the answer read-only, because a wild pointer could otherwise overwrite a
   * request. */
  mprotect((char *)box + MEHARI_SLOTS_OFFSET, MEHARI_RING_OFFSET - MEHARI_SLOTS_OFFSET, PROT_READ);
  mprotect((char *)box + MEHARI_ANSWER_OFFSET, MEHARI_ANSWER_SIZE + MEHARI_INSPECTION_SIZE, PROT_READ);
  box_file = mailbox;
  bell_file = bell_memory;
  mehari_mailbox_memory = (mehari_attached){box, bell, (char *)box + MEHARI_RING_OFFSET, event};
  mehari_front_socket = descriptor_socket;
  mehari_descriptor_claim(mailbox);
  mehari_descriptor_claim(descriptor_socket);
  mehari_descriptor_claim(bell_file);
  mehari_descriptor_claim(event);
}

/* Copies a frame to the same place of `copy`. */
static void copy_frame(char *copy, const mehari_request *frame, size_t most)
{
  size_t length = frame->length < most ? frame->length : most;
  memcpy(copy + ((const char *)frame - (const char *)mehari_box), frame, length);
}

void mehari_mailbox_leave(void)
{
  if (!mehari_box)
    return;
  char *copy = mmap(NULL, MEHARI_MAILBOX_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (copy == MAP_FAILED)
    _exit(71);
  memcpy(copy, mehari_box, MEHARI_SLOTS_OFFSET);
  if (opened)
    copy_frame(copy, opened, MEHARI_SLOT_SIZE);
  copy_frame(copy, (const mehari_request *)((const char *)mehari_box + MEHARI_ANSWER_OFFSET), MEHARI_ANSWER_SIZE);
  if (mremap(copy, MEHARI_MAILBOX_SIZE, MEHARI_MAILBOX_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, mehari_box) == MAP_FAILED ||
      mmap(mehari_mailbox_memory.bell, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    _exit(71);
  mehari_descriptors_leave((int[]){box_file, bell_file, mehari_mailbox_memory.bell_event}, 3);
  box_file = bell_file = mehari_mailbox_memory.bell_event = -1;
}

/* The bell's descriptors stay open for the workers. */
void mehari_mailbox_detach(void)
{
  munmap(mehari_box, MEHARI_MAILBOX_SIZE);
  munmap(mehari_mailbox_memory.bell, 4096);
  mehari_mailbox_memory = (mehari_attached){.bell_event = -1};
  const int files[] = {box_file, mehari_front_socket};
  for (size_t i = 0; i < C_ARRAY_LENGTH(files); i++) {
    mehari_descriptor_release(files[i]);
    close(files[i]);
  }
  box_file = bell_file = mehari_front_socket = -1;
  opened = returned = NULL;
  own_taken = (mehari_taken){0};
}

int mehari_mailbox_file(void) { return box_file; }
_Atomic uint32_t *mehari_mailbox_child(void) { return &mehari_box->child; }

uint32_t mehari_mailbox_offset(void) { return (uint32_t)((const char *)opened - (const char *)mehari_box); }
bool mehari_mailbox_holds(const mehari_request *frame) { return frame == opened; }

/* Returns the frame at an offset, as the request that was taken last. The offset is checked,
 * because it came from another process, in which any script may have run. */
const mehari_request *mehari_mailbox_frame(uint32_t offset)
{
  const mehari_request *frame = (const mehari_request *)((const char *)mehari_box + offset);
  uint32_t within = offset - MEHARI_SLOTS_OFFSET;
  if (offset < MEHARI_SLOTS_OFFSET || within >= MEHARI_SLOTS * MEHARI_SLOT_SIZE || within % MEHARI_SLOT_SIZE || !mehari_frame_is_sound(frame, MEHARI_SLOT_SIZE))
    _exit(71);
  opened = frame;
  return frame;
}

void mehari_mailbox_state(uint32_t state)
{
  atomic_store_explicit(&mehari_box->state, state, memory_order_relaxed);
}

uint32_t mehari_mailbox_number(void) { return own_taken.count; }
bool mehari_client_has_left(void)
{
  return mehari_serving && atomic_load_explicit(&mehari_box->departed, memory_order_relaxed) == mehari_mailbox_number();
}
uint32_t mehari_mailbox_progress(void) { return mehari_progress_read(mehari_box, mehari_mailbox_number()); }
void mehari_mailbox_note(uint32_t progress)
{
  if (mehari_mailbox_progress() < progress)
    mehari_progress_note(mehari_box, mehari_mailbox_number(), progress);
}

void mehari_mailbox_begin(void)
{
  own_taken.count = taken->count;
  mehari_mailbox_note(MEHARI_PROGRESS_BEGUN);
}

void mehari_mailbox_open(const mehari_request *claimed)
{
  mehari_serving = true;
  opened = claimed;
  atomic_store_explicit(&mehari_box->request_id, claimed->request_id, memory_order_relaxed);
  mehari_mailbox_adopt(claimed, claimed->body_kind == MEHARI_BODY_FILE ? mehari_body_receive(claimed->request_id) : -1);
  mehari_mailbox_map_body();
}

mehari_taken *mehari_mailbox_taken(void) { return taken; }
void mehari_mailbox_keep_taken(mehari_taken *place) { taken = place; }
void mehari_mailbox_return(const mehari_request *claimed) { returned = claimed; }

/* Each request has a number: its place in the order in which requests are taken, from 1 on. */
static uint32_t slot_of(uint32_t number) { return (number - 1) % MEHARI_SLOTS; }
static const mehari_request *frame_of(uint32_t number)
{
  return (const mehari_request *)((const char *)mehari_box + MEHARI_SLOTS_OFFSET + (size_t)slot_of(number) * MEHARI_SLOT_SIZE);
}

/* Returns a number that identifies one visit of a request. A request that the front has redirected
 * comes again in another frame, and so do the parts of a page with server-side includes. */
static uint64_t visit_of(const mehari_request *frame) { return frame->request_id ^ (uint64_t)frame->visit << 32; }

const mehari_request *mehari_mailbox_claim(void)
{
  uint64_t word = atomic_load_explicit(&mehari_box->word, memory_order_acquire);
  while ((uint32_t)word != (uint32_t)(word >> 32)) {
    if (!atomic_compare_exchange_weak_explicit(&mehari_box->word, &word, word + (UINT64_C(1) << 32), memory_order_acq_rel, memory_order_acquire))
      continue;
    uint32_t number = (uint32_t)(word >> 32) + 1;
    const mehari_request *frame = frame_of(number);
    uint64_t visit = visit_of(frame);
    if (!mehari_frame_is_sound(frame, MEHARI_SLOT_SIZE) || number != taken->count + 1 || visit == taken->last_of_slot[slot_of(number)])
      _exit(71); /* the request has already run, or the front never made it */
    taken->last_of_slot[slot_of(number)] = visit;
    taken->count = number;
    return frame;
  }
  return NULL;
}

uint32_t mehari_mailbox_latest(void) { return (uint32_t)(atomic_load(&mehari_box->word) >> 32); }
bool mehari_mailbox_latest_is_done(void) { return mehari_progress_read(mehari_box, mehari_mailbox_latest()) == MEHARI_PROGRESS_DONE; }

/* The other process may have died after it took a request and before it recorded this in
 * `taken`. */
const mehari_request *mehari_mailbox_recover(void)
{
  uint32_t number = mehari_mailbox_latest();
  if (number - taken->count > 1)
    _exit(71);
  taken->count = number;
  if (mehari_mailbox_progress() == MEHARI_PROGRESS_DONE)
    return NULL; /* the front may already use the slot for another request */
  const mehari_request *frame = frame_of(number);
  if (!mehari_frame_is_sound(frame, MEHARI_SLOT_SIZE))
    _exit(71);
  taken->last_of_slot[slot_of(number)] = visit_of(frame);
  return frame;
}

bool mehari_mailbox_take(void)
{
  const mehari_request *frame = returned ? returned : mehari_mailbox_claim();
  returned = NULL;
  if (frame)
    mehari_mailbox_open(frame);
  return frame != NULL;
}

static bool has_pending(void)
{
  uint64_t word = atomic_load(&mehari_box->word);
  return (uint32_t)word != (uint32_t)(word >> 32);
}

bool mehari_mailbox_wants_inspection(void) { return atomic_load(&mehari_box->inspection) != 0; }

bool mehari_mailbox_take_inspection(char order[MEHARI_INSPECTION_SIZE])
{
  if (!mehari_mailbox_wants_inspection())
    return false;
  memcpy(order, (const char *)mehari_box + MEHARI_INSPECTION_OFFSET, MEHARI_INSPECTION_SIZE);
  order[MEHARI_INSPECTION_SIZE - 1] = '\0';
  return atomic_exchange(&mehari_box->inspection, 0) != 0;
}

bool mehari_mailbox_wait(void)
{
  /* Dekker's algorithm: the worker declares sleep and then looks for a request or an order. The
   * front publishes it and then checks whether the worker sleeps. */
  uint32_t before = 0, asleep = 1;
  atomic_compare_exchange_strong(&mehari_box->worker_sleeps, &before, 1);
  /* A process that comes after a dead one finds the word as the dead one left it. */
  bool must_end = before == MEHARI_SLEEPS_NO_MORE && mehari_front_is_gone();
  if (!has_pending() && !must_end && !mehari_mailbox_wants_inspection())
    mehari_futex_wait(&mehari_box->worker_sleeps, before == MEHARI_SLEEPS_NO_MORE ? before : 1);
  atomic_compare_exchange_strong(&mehari_box->worker_sleeps, &asleep, 0);
  return has_pending() || !mehari_front_is_gone();
}

void mehari_mailbox_done(uint16_t detail)
{
  mehari_trace_end();
  mehari_mailbox_forget();
  atomic_fetch_add_explicit(&mehari_box->finished, 1, memory_order_relaxed);
  mehari_ring_put(MEHARI_RECORD_DONE, detail, NULL, 0);
  mehari_ring_publish();
}
