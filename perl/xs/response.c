/* The response of the request being served: what is printed gathers in a buffer; small responses leave
 * as one ring record, large or flushed ones stream. stdout.c is what fills it.
 */
#include "api.h"
#include <errno.h>
#include <unistd.h>

#define FLUSH_AT 65536u
#define HEAD_LIMIT 65536u

mehari_head mehari_response;
bool mehari_parse_headers, mehari_output_gathers;
void (*mehari_output_fill_head)(pTHX);

static char *buffer;
static size_t filled, capacity, body_bytes;
static enum { HEAD_OPEN, HEAD_SENT, HEAD_REFUSED } phase;
static bool complete;

/* The responses around the one that is made now: a sub-request's body is part of its main request's. */
typedef struct outer {
  struct outer *next;
  char *buffer;
  size_t filled, capacity, body_bytes;
  int phase;
  bool parse_headers;
  mehari_head head;
} outer;
static outer *around;
static int status_within; /* what the one within ended with */

static void reserve(size_t more)
{
  if (filled + more <= capacity)
    return;
  capacity = (filled + more) * 2;
  if (capacity < 16384)
    capacity = 16384;
  buffer = saferealloc(buffer, capacity);
}

static void put_body(const char *bytes, size_t length)
{
  body_bytes += length;
  while (length) {
    size_t part = length > MEHARI_RECORD_LIMIT / 2 ? MEHARI_RECORD_LIMIT / 2 : length;
    mehari_text text = {bytes, part};
    mehari_ring_put(MEHARI_RECORD_BODY, 0, &text, 1);
    bytes += part;
    length -= part;
  }
}

/* A head is one record. */
static bool head_fits(void)
{
  if (mehari_response.length < HEAD_LIMIT - sizeof(uint32_t))
    return true;
  mehari_text name = mehari_request_text(MEHARI_TEXT_TASK);
  mehari_logf(MEHARI_LOG_ERROR, "the response headers of %.*s are larger than %u bytes", (int)name.length, name.at, HEAD_LIMIT);
  return false;
}

/* Length of the printed header block once it is complete and sound; -1 while it is not complete. */
static ssize_t settle_head(void)
{
  if (!mehari_parse_headers) {
    if (mehari_output_fill_head) {
      dTHX;
      mehari_output_fill_head(aTHX);
    }
    if (mehari_response.refused || !head_fits())
      phase = HEAD_REFUSED;
    return 0;
  }
  size_t length = mehari_head_measure(buffer, filled);
  if (!length) {
    if (filled < HEAD_LIMIT)
      return -1;
    mehari_text name = mehari_request_text(MEHARI_TEXT_TASK);
    mehari_logf(MEHARI_LOG_ERROR, "no end of the script's headers within %u bytes: %.*s", HEAD_LIMIT, (int)name.length, name.at);
    phase = HEAD_REFUSED;
    return 0;
  }
  bool sound = mehari_head_parse(&mehari_response, buffer, length);
  if (sound && mehari_output_fill_head) {
    dTHX;
    mehari_request_complete_head(aTHX);
  }
  if (!sound || mehari_response.refused || !head_fits())
    phase = HEAD_REFUSED;
  return length;
}

static void send_head(void)
{
  mehari_text lines = {mehari_response.lines, mehari_response.length};
  mehari_ring_put(MEHARI_RECORD_HEAD, mehari_response.status, &lines, 1);
  phase = HEAD_SENT;
  atomic_store(mehari_mailbox_progress(), 1);
}

/* What the output filters make of what is buffered takes its place; false: one of them died. A printed head is none of
 * theirs, and until it is complete there is no body. */
static bool filter_body(bool is_last)
{
  dTHX;
  size_t head = mehari_parse_headers && phase == HEAD_OPEN ? mehari_head_measure(buffer, filled) : 0;
  bool waits = mehari_parse_headers && phase == HEAD_OPEN && !head;
  if (!is_last && (waits || filled == head))
    return true;
  SV *made = mehari_filter_output(aTHX_ (mehari_text){buffer + head, filled - head}, is_last);
  if (!made)
    return false;
  mehari_text body = {SvPVX(made), SvCUR(made)};
  filled = head;
  reserve(body.length);
  memcpy(buffer + filled, body.at, body.length);
  filled += body.length;
  SvREFCNT_dec(made);
  return true;
}

/* Sends what is buffered if the head is settled. */
static void pass_on(void)
{
  if (around || complete)
    return;
  if (mehari_output_gathers && !filter_body(false)) {
    mehari_output_error(500);
    return;
  }
  size_t skip = 0;
  if (phase == HEAD_OPEN) {
    ssize_t head = settle_head();
    if (head < 0)
      return;
    skip = head;
    if (phase == HEAD_OPEN)
      send_head();
  }
  if (phase == HEAD_SENT)
    put_body(buffer + skip, filled - skip);
  filled = 0;
}

static void take(const char *bytes, size_t length)
{
  if (complete)
    return;
  if (filled + length > FLUSH_AT) {
    if (filled)
      pass_on();
    if (phase == HEAD_REFUSED)
      return;
    if (phase == HEAD_SENT && length >= MEHARI_RECORD_LIMIT / 2) {
      put_body(bytes, length);
      return;
    }
  }
  reserve(length);
  memcpy(buffer + filled, bytes, length);
  filled += length;
  if (filled > FLUSH_AT)
    pass_on();
}

/* What children and C code wrote to descriptor 1 comes before what is buffered since. */
static void drain_descriptor(void)
{
  if (!mehari_stdout_has_more())
    return;
  char *later = buffer;
  size_t later_filled = filled;
  buffer = NULL;
  filled = capacity = 0;
  char *window = safemalloc(FLUSH_AT);
  ssize_t got;
  while ((got = mehari_stdout_take(window, FLUSH_AT)) > 0)
    take(window, got);
  Safefree(window);
  take(later, later_filled);
  Safefree(later);
}

/* Through the tap goes what is printed; a head that $r makes goes through the ring, before it. */
static void pour(void)
{
  if (!mehari_in_child && mehari_tap_is_open() && !mehari_parse_headers && phase == HEAD_OPEN) {
    settle_head();
    if (phase == HEAD_OPEN)
      send_head();
    mehari_ring_publish();
  }
  mehari_output_spill();
}

void mehari_output_write(const char *bytes, size_t length)
{
  if (!mehari_in_child && !mehari_tap_is_open()) {
    take(bytes, length);
    return;
  }
  reserve(length);
  memcpy(buffer + filled, bytes, length);
  filled += length;
  if (filled > FLUSH_AT)
    pour();
}

void mehari_output_spill(void)
{
  if (mehari_stdout_aside) {
    if (mehari_in_child)
      filled = 0;
    return;
  }
  if (phase != HEAD_REFUSED)
    mehari_tap_write(buffer, filled);
  body_bytes += filled;
  filled = 0;
}

/* What the head would be if it were settled now: the front needs it when a child fills the pipe first. */
static void announce_tap(pTHX)
{
  if (phase == HEAD_OPEN && !mehari_parse_headers && mehari_output_fill_head)
    mehari_output_fill_head(aTHX);
  else if (phase == HEAD_OPEN && mehari_output_fill_head)
    mehari_request_complete_head(aTHX);
  mehari_text task = mehari_request_text(MEHARI_TEXT_TASK);
  uint32_t lines = phase == HEAD_OPEN && head_fits() && !mehari_response.refused ? mehari_response.length : 0;
  if (task.length > MEHARI_RECORD_LIMIT - sizeof lines - lines)
    task.length = 0;
  mehari_text parts[] = {{(char *)&lines, sizeof lines}, {mehari_response.lines, lines}, task};
  mehari_ring_put(MEHARI_RECORD_TAP, mehari_response.status | (mehari_parse_headers ? MEHARI_TAP_PARSE : 0), parts, 3);
  if (phase == HEAD_OPEN)
    mehari_head_clear(&mehari_response);
  mehari_ring_publish();
}

void mehari_output_share(pTHX)
{
  if (!mehari_in_child && mehari_serving && !mehari_tap_is_open()) {
    drain_descriptor();
    if (phase == HEAD_SENT)
      pass_on();
    if (!mehari_tap_open())
      return;
    atomic_store(mehari_mailbox_progress(), 1);
    announce_tap(aTHX);
  }
  mehari_output_spill();
}

static bool detached;
void mehari_output_detach(void) { detached = true; }

void mehari_output_flush(void)
{
  if (mehari_in_child || mehari_tap_is_open()) {
    pour();
    return;
  }
  if (!mehari_serving)
    return;
  pass_on();
  mehari_ring_publish();
}

bool mehari_output_sent(void) { return phase == HEAD_SENT; }
size_t mehari_output_bytes(void) { return body_bytes + filled; }
bool mehari_output_has_body(pTHX)
{
  mehari_stdout_flush(aTHX);
  if (mehari_tap_is_open()) { /* the front has seen it, and decides */
    mehari_output_spill();
    return phase == HEAD_SENT;
  }
  drain_descriptor();
  if (phase == HEAD_SENT || !filled)
    return phase == HEAD_SENT;
  size_t head = mehari_parse_headers ? mehari_head_measure(buffer, filled) : 0;
  return mehari_parse_headers ? head && filled > head : true;
}

void mehari_output_discard(void) { filled = 0; }

bool mehari_output_is_complete(void) { return complete; }

void mehari_output_enter(pTHX_ bool parse_headers)
{
  mehari_stdout_flush(aTHX);
  drain_descriptor();
  outer *this = safemalloc(sizeof *this);
  *this = (outer){around, buffer, filled, capacity, body_bytes, phase, mehari_parse_headers, mehari_response};
  around = this;
  buffer = NULL;
  filled = capacity = 0;
  phase = HEAD_OPEN;
  mehari_parse_headers = parse_headers;
  mehari_response = (mehari_head){0};
  status_within = 0;
}

int mehari_output_leave(pTHX)
{
  mehari_stdout_flush(aTHX);
  drain_descriptor();
  outer *this = around;
  char *body = buffer;
  size_t length = filled, skip = mehari_parse_headers ? mehari_head_measure(buffer, filled) : 0;
  Safefree(mehari_response.lines);
  around = this->next;
  buffer = this->buffer;
  filled = this->filled;
  capacity = this->capacity;
  body_bytes = this->body_bytes;
  phase = this->phase;
  mehari_parse_headers = this->parse_headers;
  mehari_response = this->head;
  Safefree(this);
  if (body)
    take(body + skip, length - skip);
  Safefree(body);
  return status_within;
}

static void finish(void)
{
  complete = true;
  mehari_ring_put(MEHARI_RECORD_END, detached ? MEHARI_END_DETACHED : 0, NULL, 0);
  atomic_store(mehari_mailbox_progress(), 2);
}

void mehari_output_error(int status)
{
  dTHX;
  filled = 0;
  if (around) {
    status_within = status;
    return;
  }
  complete = true;
  mehari_tap_close(aTHX);
  if (phase == HEAD_SENT) {
    mehari_ring_put(MEHARI_RECORD_END, MEHARI_END_BROKEN, NULL, 0);
  } else {
    uint32_t none = 0;
    mehari_text parts[] = {{(char *)&none, sizeof none}};
    mehari_ring_put(MEHARI_RECORD_RESPONSE, status, parts, 1);
  }
  atomic_store(mehari_mailbox_progress(), 2);
}

void mehari_output_pass(int status, const char *parts, size_t length)
{
  dTHX;
  mehari_text payload = {parts, length};
  complete = true;
  mehari_tap_close(aTHX);
  filled = 0;
  mehari_ring_put(MEHARI_RECORD_PASS, status, &payload, 1);
  phase = HEAD_SENT;
  atomic_store(mehari_mailbox_progress(), 2);
}

static void finish_at_once(size_t skip)
{
  uint32_t lines = mehari_response.length;
  mehari_text parts[] = {{(char *)&lines, sizeof lines}, {mehari_response.lines, lines}, {buffer + skip, filled - skip}};
  body_bytes = filled - skip;
  complete = true;
  mehari_ring_put(MEHARI_RECORD_RESPONSE, mehari_response.status, parts, 3);
  atomic_store(mehari_mailbox_progress(), 2);
  filled = 0;
}

/* The head is sent, or comes through the tap as the body does. */
static void end_tapped(pTHX)
{
  if (mehari_parse_headers || phase != HEAD_OPEN)
    mehari_output_spill();
  else
    pour();
  mehari_tap_close(aTHX);
  if (phase == HEAD_REFUSED)
    mehari_output_error(500);
  else
    finish();
}

void mehari_output_end(pTHX)
{
  mehari_stdout_flush(aTHX);
  if (around || complete)
    return;
  if (mehari_output_gathers) {
    drain_descriptor();
    bool lives = !complete && filter_body(true);
    mehari_output_gathers = false;
    if (!lives) {
      if (!complete)
        mehari_output_error(500);
      return;
    }
  }
  if (mehari_tap_is_open()) {
    end_tapped(aTHX);
    return;
  }
  drain_descriptor();
  size_t skip = 0;
  if (phase == HEAD_OPEN) {
    ssize_t head = settle_head();
    if (head < 0) {
      mehari_text name = mehari_request_text(MEHARI_TEXT_TASK);
      mehari_logf(MEHARI_LOG_ERROR, "%s: %.*s", filled ? "malformed header from script: no blank line after the headers" : "premature end of script headers",
                  (int)name.length, name.at);
      phase = HEAD_REFUSED;
    } else
      skip = head;
  }
  if (phase == HEAD_REFUSED)
    mehari_output_error(500);
  else if (phase == HEAD_SENT) {
    put_body(buffer, filled);
    filled = 0;
    finish();
  } else if (mehari_response.length + filled - skip + sizeof(uint32_t) <= MEHARI_RECORD_LIMIT)
    finish_at_once(skip);
  else {
    send_head();
    put_body(buffer + skip, filled - skip);
    filled = 0;
    finish();
  }
}

void mehari_output_begin(pTHX)
{
  mehari_head_clear(&mehari_response);
  mehari_output_fill_head = mehari_request_fill_head;
  phase = HEAD_OPEN;
  complete = mehari_output_gathers = false;
  filled = 0;
  body_bytes = 0;
  detached = mehari_now.frame->task == MEHARI_TASK_HANDLER;
  mehari_parse_headers = mehari_now.frame->flags & MEHARI_FLAG_PARSE_HEADERS;
  mehari_stdout_begin(aTHX);
}
