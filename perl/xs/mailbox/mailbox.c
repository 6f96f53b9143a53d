/* The worker's end of its mailbox: taking requests, writing ring records, sleeping and waking.
 * The handshakes are those of server/wire (which model-checks them); see wire.h for the layout.
 */
#include "mailbox/mailbox.h"
#include "interpreter/interpreter.h"
#include "process/process.h"
#include "stdio/standard.h"
#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

mehari_job mehari_now;
bool mehari_serving, mehari_in_child;
int mehari_front_socket = -1;

static mehari_mailbox *box;
static mehari_bell *bell;
static char *ring;
static int bell_event = -1, box_file = -1;
static bool unpublished;
static const mehari_request *opened; /* the frame of the request that was taken last */
/* Our own knowledge of the number of taken requests and of the last request of each slot. A
 * script may overwrite the mailbox. */
static mehari_taken own_taken, *taken = &own_taken;
/* A request that the borrower of the mailbox claimed and did not begin. */
static const mehari_request *returned;

static long futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
  return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

void mehari_mailbox_attach(int mailbox, int descriptor_socket, int bell_file, int event)
{
  box = mmap(NULL, MEHARI_MAILBOX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, mailbox, 0);
  bell = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, bell_file, 0);
  if (box == MAP_FAILED || bell == MAP_FAILED || box->magic != MEHARI_MAGIC || box->version != MEHARI_VERSION) {
    static const char text[] = "mehari worker: the mailbox cannot be mapped or is of another version\n";
    (void)!write(2, text, sizeof text - 1);
    _exit(70);
  }
  /* Write protection: a wild pointer could otherwise overwrite a request. */
  mprotect((char *)box + MEHARI_SLOTS_OFFSET, MEHARI_RING_OFFSET - MEHARI_SLOTS_OFFSET, PROT_READ);
  mprotect((char *)box + MEHARI_ANSWER_OFFSET, MEHARI_ANSWER_SIZE, PROT_READ);
  box_file = mailbox;
  ring = (char *)box + MEHARI_RING_OFFSET;
  mehari_front_socket = descriptor_socket;
  bell_event = event;
  mehari_descriptor_claim(mailbox);
  mehari_descriptor_claim(descriptor_socket);
  mehari_descriptor_claim(bell_file);
  mehari_descriptor_claim(event);
}

int mehari_mailbox_file(void) { return box_file; }
uint64_t mehari_mailbox_finished(void) { return atomic_load_explicit(&box->finished, memory_order_relaxed); }
_Atomic uint32_t *mehari_mailbox_child(void) { return &box->child; }

uint32_t mehari_mailbox_offset(void) { return (uint32_t)((const char *)opened - (const char *)box); }
bool mehari_mailbox_holds(const mehari_request *frame) { return frame == opened; }

static bool frame_is_sound(const mehari_request *frame, uint32_t most)
{
  if (frame->length < sizeof *frame || frame->length > most)
    return false;
  size_t pairs = (size_t)frame->field_count + frame->variable_count;
  return sizeof *frame + pairs * sizeof(mehari_pair) <= frame->length;
}

/* The offset came from another process, in which any script may have run. */
const mehari_request *mehari_mailbox_frame(uint32_t offset)
{
  const mehari_request *frame = (const mehari_request *)((const char *)box + offset);
  uint32_t within = offset - MEHARI_SLOTS_OFFSET;
  if (offset < MEHARI_SLOTS_OFFSET || within >= MEHARI_SLOTS * MEHARI_SLOT_SIZE || within % MEHARI_SLOT_SIZE || !frame_is_sound(frame, MEHARI_SLOT_SIZE))
    _exit(71);
  return frame;
}

void mehari_mailbox_state(uint32_t state)
{
  atomic_store_explicit(&box->state, state, memory_order_relaxed);
}

_Atomic uint32_t *mehari_mailbox_progress(void)
{
  return &box->forked;
}

/* Receives the body file of request `id`. The front sends descriptors in order, each with the id
 * of its request. Descriptors of requests that the front took back are closed here. */
static int receive_body_file(uint64_t id)
{
  for (;;) {
    uint64_t of = 0;
    struct iovec bytes = {&of, sizeof of};
    union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control;
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    ssize_t got = recvmsg(mehari_front_socket, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR)
      continue;
    struct cmsghdr *header = got == sizeof of ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header || header->cmsg_type != SCM_RIGHTS)
      return -1;
    int file;
    memcpy(&file, CMSG_DATA(header), sizeof file);
    if (of == id)
      return file;
    close(file);
  }
}

bool mehari_mailbox_send_file(int file)
{
  uint64_t request = mehari_now.frame->request_id;
  struct iovec bytes = {&request, sizeof request};
  union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control;
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
  memcpy(CMSG_DATA(&control.header), &file, sizeof(int));
  return sendmsg(mehari_front_socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof request;
}

void mehari_mailbox_adopt(const mehari_request *frame, int body_file)
{
  mehari_job_read(&mehari_now, frame);
  mehari_now.body = NULL;
  mehari_now.body_length = 0;
  mehari_now.body_file = body_file;
  if (frame->body_kind == MEHARI_BODY_MEMORY) {
    mehari_text body = mehari_span_text(frame->body);
    mehari_now.body = body.at;
    mehari_now.body_length = body.length;
  }
}

/* The file came from another process, in which any script may have run. */
bool mehari_mailbox_adopt_carried(int file)
{
  struct stat about;
  size_t size = fstat(file, &about) == 0 ? (size_t)about.st_size : 0;
  const mehari_request *frame = size < sizeof *frame ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (frame == MAP_FAILED || size > UINT32_MAX || !frame_is_sound(frame, (uint32_t)size))
    return false;
  mehari_job_read(&mehari_now, frame);
  return true;
}

void mehari_mailbox_map_body(void)
{
  if (mehari_now.frame->body_kind != MEHARI_BODY_FILE || mehari_now.frame->task == MEHARI_TASK_CONNECTION)
    return;
  size_t length = mehari_now.frame->body_length;
  void *mapped = mehari_now.body_file < 0 ? MAP_FAILED : mmap(NULL, length, PROT_READ, MAP_PRIVATE, mehari_now.body_file, 0);
  if (mapped == MAP_FAILED) {
    mehari_logf(MEHARI_LOG_ERROR, "the request body cannot be mapped: %s", strerror(errno));
    return;
  }
  mehari_now.body = mapped;
  mehari_now.body_length = length;
}

/* `body` must stay valid until the request is over. */
void mehari_mailbox_replace_body(mehari_text body)
{
  if (mehari_now.body_file >= 0) {
    if (mehari_now.body_length)
      munmap((void *)mehari_now.body, mehari_now.body_length);
    close(mehari_now.body_file);
    mehari_now.body_file = -1;
  }
  mehari_now.body = body.at;
  mehari_now.body_length = body.length;
}

void mehari_mailbox_open(const mehari_request *claimed)
{
  mehari_serving = true;
  opened = claimed;
  mehari_mailbox_adopt(claimed, claimed->body_kind == MEHARI_BODY_FILE ? receive_body_file(claimed->request_id) : -1);
  mehari_mailbox_map_body();
}

mehari_taken *mehari_mailbox_taken(void) { return taken; }
void mehari_mailbox_keep_taken(mehari_taken *place) { taken = place; }
void mehari_mailbox_return(const mehari_request *claimed) { returned = claimed; }

const mehari_request *mehari_mailbox_claim(void)
{
  uint64_t word = atomic_load_explicit(&box->word, memory_order_acquire);
  while ((uint32_t)word != (uint32_t)(word >> 32)) {
    if (!atomic_compare_exchange_weak_explicit(&box->word, &word, word + (UINT64_C(1) << 32), memory_order_acq_rel, memory_order_acquire))
      continue;
    uint32_t slot = (uint32_t)(word >> 32) % MEHARI_SLOTS;
    const mehari_request *frame = (const mehari_request *)((char *)box + MEHARI_SLOTS_OFFSET + (size_t)slot * MEHARI_SLOT_SIZE);
    /* A request that the front has redirected comes again, with a greater depth. */
    uint64_t visit = frame->request_id ^ (uint64_t)frame->depth << 48;
    if (!frame_is_sound(frame, MEHARI_SLOT_SIZE) || (uint32_t)(word >> 32) != taken->count++ || visit == taken->last_of_slot[slot])
      _exit(71); /* the request has already run, or the front never made it */
    taken->last_of_slot[slot] = visit;
    opened = frame;
    atomic_store_explicit(&box->request_id, frame->request_id, memory_order_relaxed);
    atomic_store_explicit(&box->forked, 0, memory_order_relaxed);
    return frame;
  }
  return NULL;
}

bool mehari_mailbox_take(void)
{
  const mehari_request *frame = returned ? returned : mehari_mailbox_claim();
  returned = NULL;
  if (frame)
    mehari_mailbox_open(frame);
  return frame != NULL;
}

static bool front_is_gone(void)
{
  char byte;
  return recv(mehari_front_socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static bool has_pending(void)
{
  uint64_t word = atomic_load(&box->word);
  return (uint32_t)word != (uint32_t)(word >> 32);
}

bool mehari_mailbox_wait(void)
{
  static const struct timespec patience = {.tv_sec = 5};
  /* Dekker's algorithm. The front's side publishes a request and then checks whether the worker
   * sleeps. */
  atomic_store(&box->worker_sleeps, 1);
  if (!has_pending())
    futex(&box->worker_sleeps, FUTEX_WAIT, 1, &patience);
  atomic_store(&box->worker_sleeps, 0);
  return has_pending() || !front_is_gone();
}

void mehari_mailbox_forget(void)
{
  if (mehari_now.body_file >= 0) {
    if (mehari_now.body)
      munmap((void *)mehari_now.body, mehari_now.body_length);
    close(mehari_now.body_file);
    mehari_now.body_file = -1;
  }
  mehari_now.body = NULL;
  mehari_now.body_length = 0;
  mehari_serving = false;
}

void mehari_mailbox_done(uint16_t detail)
{
  mehari_mailbox_forget();
  atomic_fetch_add_explicit(&box->finished, 1, memory_order_relaxed);
  mehari_ring_put(MEHARI_RECORD_DONE, detail, NULL, 0);
  mehari_ring_publish();
}

static void ring_copy(uint64_t at, const void *bytes, size_t length)
{
  size_t offset = at % MEHARI_RING_SIZE, first = MEHARI_RING_SIZE - offset;
  if (length <= first) {
    mehari_bytes(ring + offset, bytes, length);
    return;
  }
  mehari_bytes(ring + offset, bytes, first);
  mehari_bytes(ring, (const char *)bytes + first, length - first);
}

static uint64_t ring_room(void)
{
  uint64_t written = atomic_load_explicit(&box->ring_written, memory_order_relaxed);
  return MEHARI_RING_SIZE - (written - atomic_load(&box->ring_read));
}

static void ring_wait_for(uint64_t needed)
{
  static const struct timespec patience = {.tv_sec = 5};
  while (ring_room() < needed) {
    mehari_ring_publish();
    atomic_store(&box->worker_waits_for_room, 1);
    if (ring_room() < needed)
      futex(&box->worker_waits_for_room, FUTEX_WAIT, 1, &patience);
    atomic_store(&box->worker_waits_for_room, 0);
    if (ring_room() < needed && front_is_gone())
      _exit(0);
  }
}

void mehari_ring_put(uint16_t kind, uint16_t detail, const mehari_text *parts, int count)
{
  size_t length = 0;
  for (int i = 0; i < count; i++)
    length += parts[i].length;
  /* A fault of the caller: the front would take the worker for broken. */
  if (length > MEHARI_RECORD_LIMIT) {
    static const char text[] = "mehari worker: a record is too long\n";
    (void)!write(2, text, sizeof text - 1);
    _exit(72);
  }
  uint64_t whole = sizeof(mehari_record) + ((length + 7) & ~UINT64_C(7));
  if (ring_room() < whole)
    ring_wait_for(whole);
  uint64_t at = atomic_load_explicit(&box->ring_written, memory_order_relaxed);
  mehari_record record = {(uint32_t)length, kind, detail};
  ring_copy(at, &record, sizeof record);
  uint64_t next = at + sizeof record;
  for (int i = 0; i < count; i++) {
    ring_copy(next, parts[i].at, parts[i].length);
    next += parts[i].length;
  }
  /* Dekker's algorithm. The front's side declares sleep and then scans the rings;
   * mehari_ring_publish checks the bell. */
  atomic_store(&box->ring_written, at + whole);
  unpublished = true;
}

void mehari_ring_publish(void)
{
  if (!unpublished)
    return;
  unpublished = false;
  if (atomic_load(&bell->front_sleeps) != 1 || atomic_exchange(&bell->front_sleeps, 0) != 1)
    return;
  uint64_t one = 1;
  (void)!write(bell_event, &one, sizeof one);
}

uint32_t mehari_answer_count(void) { return atomic_load(&box->answered); }

/* Waits until the number of the front's answers exceeds `before`. */
static void wait_for_answer(uint32_t before)
{
  static const struct timespec patience = {.tv_sec = 5};
  mehari_ring_publish();
  while (atomic_load(&box->answered) == before) {
    futex(&box->answered, FUTEX_WAIT, before, &patience);
    if (atomic_load(&box->answered) == before && front_is_gone())
      _exit(0);
  }
}

bool mehari_receive_outcome(uint32_t before, mehari_response_outcome *outcome)
{
  wait_for_answer(before);
  const mehari_outcome_frame *frame = (const mehari_outcome_frame *)((char *)box + MEHARI_ANSWER_OFFSET);
  if (frame->length < sizeof *frame || frame->length > MEHARI_ANSWER_SIZE || !frame->status)
    return false;
  *outcome = (mehari_response_outcome){frame->status, frame->bytes, {(const char *)(frame + 1), frame->length - sizeof *frame}};
  return true;
}

const mehari_request *mehari_ask(uint16_t server, const mehari_text *parts, int count)
{
  if (!mehari_serving || mehari_in_child)
    return NULL;
  uint32_t before = mehari_answer_count();
  mehari_ring_put(MEHARI_RECORD_ASK, server, parts, count);
  wait_for_answer(before);
  const mehari_request *frame = (const mehari_request *)((char *)box + MEHARI_ANSWER_OFFSET);
  return frame_is_sound(frame, MEHARI_ANSWER_SIZE) ? frame : NULL;
}

/* One line for the error log. The front adds the request and this worker. */
void mehari_log(int level, const char *text, STRLEN length)
{
  while (length && (text[length - 1] == '\n' || text[length - 1] == '\r'))
    length--;
  if (mehari_errors_are_quiet())
    return;
  dTHX;
  if (!mehari_serving || mehari_in_child || mehari_in_thread(aTHX)) {
    dprintf(2, "%.*s\n", (int)length, text);
    return;
  }
  if (length > 8192)
    length = 8192;
  mehari_text line = {text, length};
  mehari_ring_put(MEHARI_RECORD_LOG, level, &line, 1);
}

void mehari_logf(int level, const char *format, ...)
{
  char line[2048];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length > 0)
    mehari_log(level, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}
