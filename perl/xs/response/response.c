/* The response of the current request. Printed output gathers in a buffer. A small response is sent
 * as one ring record. A large or flushed response is sent in parts. stdio/stdout.c fills the
 * buffer. */
#include "response/head.h"
#include "response/outgoing.h"
#include "response/response.h"
#include "api/api.h"
#include "interpreter/perl_internals.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "request/record.h"
#include "stdio/standard.h"
#include <errno.h>
#include <unistd.h>

#define HEAD_LIMIT 65536u
#define USUAL_SIZE 16384u /* of the buffer */

MEHARI_WRITTEN mehari_head mehari_response;
MEHARI_WRITTEN bool mehari_parse_headers, mehari_output_gathers;
MEHARI_WRITTEN void (*mehari_output_fill_head)(pTHX);

MEHARI_WRITTEN mehari_outgoing mehari_out;
MEHARI_WRITTEN static bool complete;

void mehari_out_reserve(size_t more)
{
  if (mehari_out.filled + more <= mehari_out.capacity)
    return;
  mehari_out.capacity = (mehari_out.filled + more) * 2;
  if (mehari_out.capacity < USUAL_SIZE)
    mehari_out.capacity = USUAL_SIZE;
  mehari_out.buffer = saferealloc(mehari_out.buffer, mehari_out.capacity);
}

void mehari_output_move(void)
{
  mehari_head *head = &mehari_response;
  if (head->length || mehari_out.filled)
    return;
  head->capacity = head->capacity ? head->capacity : 1024;
  head->lines = mehari_new_place(head->capacity);
  mehari_out.capacity = USUAL_SIZE;
  mehari_out.buffer = mehari_new_place(USUAL_SIZE);
}

static void put_body(const char *bytes, size_t length)
{
  mehari_out.body_bytes += length;
  while (length) {
    size_t part = length > MEHARI_RECORD_LIMIT / 2 ? MEHARI_RECORD_LIMIT / 2 : length;
    mehari_text text = {bytes, part};
    mehari_ring_put(MEHARI_RECORD_BODY, 0, &text, 1);
    bytes += part;
    length -= part;
  }
}

/* Whether the head fits one record. A larger head cannot be sent. */
bool mehari_out_head_fits(void)
{
  if (mehari_response.length < HEAD_LIMIT - sizeof(uint32_t))
    return true;
  mehari_text name = mehari_request_text(MEHARI_TEXT_TASK);
  mehari_logf(MEHARI_LOG_ERROR, "the response headers of %.*s are larger than %u bytes", (int)name.length, name.at, HEAD_LIMIT);
  return false;
}

/* Returns the length of the printed header block once the block is complete and valid. -1:
 * incomplete. */
ssize_t mehari_out_settle(void)
{
  if (!mehari_parse_headers) {
    if (mehari_output_fill_head) {
      dTHX;
      mehari_output_fill_head(aTHX);
    }
    if (mehari_response.refused || !mehari_out_head_fits())
      mehari_out.phase = HEAD_REFUSED;
    return 0;
  }
  size_t length = mehari_head_measure(mehari_out.buffer, mehari_out.filled);
  if (!length) {
    if (mehari_out.filled < HEAD_LIMIT)
      return -1;
    mehari_text name = mehari_request_text(MEHARI_TEXT_TASK);
    mehari_logf(MEHARI_LOG_ERROR, "no end of the script's headers within %u bytes: %.*s", HEAD_LIMIT, (int)name.length, name.at);
    mehari_out.phase = HEAD_REFUSED;
    return 0;
  }
  bool sound = mehari_head_parse(&mehari_response, mehari_out.buffer, length);
  if (sound && mehari_output_fill_head) {
    dTHX;
    mehari_request_complete_head(aTHX);
  }
  if (!sound || mehari_response.refused || !mehari_out_head_fits())
    mehari_out.phase = HEAD_REFUSED;
  return length;
}

void mehari_out_send_head(void)
{
  mehari_text lines = {mehari_response.lines, mehari_response.length};
  mehari_ring_put(MEHARI_RECORD_HEAD, mehari_response.status, &lines, 1);
  mehari_out.phase = HEAD_SENT;
}

/* Replaces the buffered output by the filters' output. False: a filter died. A printed head is not
 * filtered, and the body begins only after the head. */
bool mehari_out_filter(mehari_part_of_body part)
{
  bool is_last = part == MEHARI_PART_LAST;
  dTHX;
  size_t head = mehari_parse_headers && mehari_out.phase == HEAD_OPEN ? mehari_head_measure(mehari_out.buffer, mehari_out.filled) : 0;
  bool waits = mehari_parse_headers && mehari_out.phase == HEAD_OPEN && !head;
  if (!is_last && (waits || mehari_out.filled == head + mehari_out.clean))
    return true;
  size_t from = head + mehari_out.clean;
  mehari_pieces pieces = {0};
  for (int i = 0; i < mehari_out.pieces.count; i++)
    if (mehari_out.pieces.at[i] > from && mehari_out.pieces.at[i] < mehari_out.filled)
      pieces.at[pieces.count++] = mehari_out.pieces.at[i] - from;
  mehari_out.pieces.count = 0;
  SV *made = mehari_filter_output(aTHX_ (mehari_text){mehari_out.buffer + from, mehari_out.filled - from}, &pieces, part);
  if (!made)
    return false;
  mehari_text body = {SvPVX(made), SvCUR(made)};
  mehari_out.filled = head + mehari_out.clean;
  mehari_out.clean += body.length;
  mehari_out_reserve(body.length);
  mehari_bytes(mehari_out.buffer + mehari_out.filled, body.at, body.length);
  mehari_out.filled += body.length;
  SvREFCNT_dec(made);
  return true;
}

static void pass_on(mehari_part_of_body part)
{
  if (mehari_out_is_nested() || complete)
    return;
  if (mehari_output_gathers && !mehari_out_filter(part)) {
    mehari_output_error(500);
    return;
  }
  /* A filter that holds all output back may still change the head. */
  if (mehari_output_gathers && !mehari_out.clean)
    return;
  size_t skip = 0;
  if (mehari_out.phase == HEAD_OPEN) {
    ssize_t head = mehari_out_settle();
    if (head < 0)
      return;
    skip = head;
    if (mehari_out.phase == HEAD_OPEN)
      mehari_out_send_head();
  }
  if (mehari_out.phase == HEAD_SENT)
    put_body(mehari_out.buffer + skip, mehari_out.filled - skip);
  mehari_out.filled = mehari_out.clean = 0;
}

void mehari_out_pass_on(void) { pass_on(MEHARI_PART_MORE); }

static void begin_piece(void)
{
  mehari_pieces *pieces = &mehari_out.pieces;
  size_t last = pieces->count ? pieces->at[pieces->count - 1] : mehari_out.clean;
  if (mehari_out.filled > last && pieces->count < MOST_PIECES)
    pieces->at[pieces->count++] = mehari_out.filled;
}

/* Begins a new piece where mod_perl would. mod_perl sends its buffer when the next text does not
 * fit, and sends a text that is larger than the buffer by itself. */
static void divide(size_t next)
{
  const mehari_pieces *pieces = &mehari_out.pieces;
  size_t last = pieces->count ? pieces->at[pieces->count - 1] : mehari_out.clean;
  if (mehari_out.filled - last + next > MEHARI_BUFFER)
    begin_piece();
}

void mehari_out_take(const char *bytes, size_t length)
{
  if (complete)
    return;
  if (mehari_output_gathers)
    divide(length);
  if (mehari_out.filled + length > FLUSH_AT) {
    if (mehari_out.filled)
      mehari_out_pass_on();
    if (mehari_out.phase == HEAD_REFUSED)
      return;
    if (mehari_out.phase == HEAD_SENT && length >= MEHARI_RECORD_LIMIT / 2 && !mehari_output_gathers) {
      put_body(bytes, length);
      return;
    }
  }
  mehari_out_reserve(length);
  mehari_bytes(mehari_out.buffer + mehari_out.filled, bytes, length);
  mehari_out.filled += length;
  if (mehari_output_gathers && length > MEHARI_BUFFER)
    begin_piece();
  if (mehari_out.filled > FLUSH_AT)
    mehari_out_pass_on();
}

void mehari_out_drain(void)
{
  if (!mehari_stdout_has_more())
    return;
  char *later = mehari_out.buffer;
  size_t later_filled = mehari_out.filled;
  mehari_out.buffer = NULL;
  mehari_out.filled = mehari_out.capacity = 0;
  char *window = safemalloc(FLUSH_AT);
  ssize_t got;
  while ((got = mehari_stdout_take(window, FLUSH_AT)) > 0)
    mehari_out_take(window, got);
  Safefree(window);
  mehari_out_take(later, later_filled);
  Safefree(later);
}

void mehari_output_write(const char *bytes, size_t length)
{
  if (!mehari_in_child && !mehari_tap_is_open()) {
    mehari_out_take(bytes, length);
    return;
  }
  mehari_out_reserve(length);
  mehari_bytes(mehari_out.buffer + mehari_out.filled, bytes, length);
  mehari_out.filled += length;
  if (mehari_out.filled > FLUSH_AT)
    mehari_out_write_to_tap();
}

bool mehari_output_waits(void) { return mehari_out.filled > 0; }

bool mehari_output_is_lost(size_t length) { return mehari_out.filled + length > MEHARI_BUFFER && mehari_client_has_left(); }

MEHARI_WRITTEN static bool detached;
void mehari_output_detach(void) { detached = true; }

void mehari_output_flush(void)
{
  if (mehari_in_child || mehari_tap_is_open()) {
    mehari_out_write_to_tap();
    return;
  }
  if (!mehari_serving)
    return;
  pass_on(MEHARI_PART_FLUSHED);
  mehari_ring_publish();
}

bool mehari_output_sent(void) { return mehari_out.phase == HEAD_SENT; }
size_t mehari_output_bytes(void) { return mehari_out.body_bytes + mehari_out.filled; }
size_t mehari_output_bytes_sent(void) { return complete ? mehari_output_bytes() : mehari_out.body_bytes; }
bool mehari_output_has_body(pTHX)
{
  mehari_stdout_flush(aTHX);
  if (mehari_tap_is_open()) { /* the front, which reads the tap, decides about the response */
    mehari_output_spill();
    return mehari_out.phase == HEAD_SENT;
  }
  mehari_out_drain();
  if (mehari_out.phase == HEAD_SENT || !mehari_out.filled)
    return mehari_out.phase == HEAD_SENT;
  size_t head = mehari_parse_headers ? mehari_head_measure(mehari_out.buffer, mehari_out.filled) : 0;
  return mehari_parse_headers ? head && mehari_out.filled > head : true;
}

void mehari_output_discard(void) { mehari_out.filled = 0; }

void mehari_output_discard_own(void)
{
  size_t waiting = mehari_out.passed > mehari_out.body_bytes ? mehari_out.passed - mehari_out.body_bytes : 0;
  if (waiting < mehari_out.filled)
    mehari_out.filled = waiting;
  if (mehari_out.clean > mehari_out.filled)
    mehari_out.clean = mehari_out.filled;
}

bool mehari_output_is_complete(void) { return complete; }

static void finish(void)
{
  complete = true;
  mehari_ring_put(MEHARI_RECORD_END, detached ? MEHARI_END_DETACHED : 0, NULL, 0);
}

/* Ends the response with an error. A request has one response, so later output is not sent. */
void mehari_output_error(int status)
{
  dTHX;
  mehari_out.filled = 0;
  if (mehari_out_is_nested()) {
    mehari_out_fail_nested(status);
    return;
  }
  if (complete)
    return;
  mehari_rec_tell_log(aTHX);
  complete = true;
  mehari_tap_close(aTHX);
  if (mehari_out.phase == HEAD_SENT) {
    mehari_ring_put(MEHARI_RECORD_END, MEHARI_END_BROKEN, NULL, 0);
  } else {
    uint32_t none = 0;
    mehari_text parts[] = {{(char *)&none, sizeof none}};
    mehari_ring_put(MEHARI_RECORD_RESPONSE, status, parts, 1);
  }
}

void mehari_output_pass(int status, const char *parts, size_t length)
{
  dTHX;
  mehari_text payload = {parts, length};
  if (complete)
    return;
  complete = true;
  mehari_tap_close(aTHX);
  mehari_out.filled = 0;
  mehari_ring_put(MEHARI_RECORD_PASS, status, &payload, 1);
  mehari_out.phase = HEAD_SENT;
}

void mehari_output_leave_to_front(void)
{
  complete = true;
  mehari_output_gathers = false;
  mehari_out.filled = 0;
  mehari_out.phase = HEAD_SENT;
  mehari_mailbox_note(MEHARI_PROGRESS_COMPLETE);
}

static void finish_at_once(size_t skip)
{
  uint32_t lines = mehari_response.length;
  mehari_text parts[] = {{(char *)&lines, sizeof lines}, {mehari_response.lines, lines}, {mehari_out.buffer + skip, mehari_out.filled - skip}};
  mehari_out.body_bytes = mehari_out.filled - skip;
  complete = true;
  mehari_ring_put(MEHARI_RECORD_RESPONSE, mehari_response.status, parts, 3);
  mehari_out.filled = 0;
}

/* Ends a response whose head was sent before, or comes through the tap before the body. */
static void end_tapped(pTHX)
{
  if (mehari_parse_headers || mehari_out.phase != HEAD_OPEN)
    mehari_output_spill();
  else
    mehari_out_write_to_tap();
  mehari_tap_close(aTHX);
  if (mehari_out.phase == HEAD_REFUSED)
    mehari_output_error(500);
  else
    finish();
}

/* As under mod_perl, code in the worker may print nothing. The response is then what the code has
 * set in its request object. If a script has set the status of an error, the error page is the
 * response, and the result is true. */
static bool ends_with_error_page(pTHX)
{
  const mehari_request *frame = mehari_now.frame;
  if (mehari_out.filled || !mehari_is_for_interpreter(frame))
    return false;
  int status = mehari_rec_of_head()->status;
  mehari_text name = mehari_request_text(MEHARI_TEXT_TASK);
  if (mehari_parse_headers && (!status || status == 200))
    mehari_logf(MEHARI_LOG_WARN, "the script printed no header and no text: %.*s", (int)name.length, name.at);
  mehari_parse_headers = false;
  if (frame->task == MEHARI_TASK_HANDLER || status < 400)
    return false;
  mehari_rec_fail(aTHX_ status);
  return true;
}

void mehari_output_end(pTHX)
{
  mehari_stdout_flush(aTHX);
  if (mehari_out_is_nested() || complete)
    return;
  mehari_rec_tell_log(aTHX);
  if (mehari_output_gathers) {
    mehari_out_drain();
    bool lives = !complete && mehari_out_filter(MEHARI_PART_LAST);
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
  mehari_out_drain();
  size_t skip = 0;
  if (mehari_out.phase == HEAD_OPEN) {
    if (ends_with_error_page(aTHX))
      return;
    ssize_t head = mehari_out_settle();
    if (head < 0) {
      mehari_text name = mehari_request_text(MEHARI_TEXT_TASK);
      mehari_logf(MEHARI_LOG_ERROR, "%s: %.*s", mehari_out.filled ? "malformed header from script: no blank line after the headers" : "premature end of script headers",
                  (int)name.length, name.at);
      mehari_out.phase = HEAD_REFUSED;
    } else
      skip = head;
  }
  if (mehari_out.phase == HEAD_REFUSED)
    mehari_output_error(500);
  else if (mehari_out.phase == HEAD_SENT) {
    put_body(mehari_out.buffer, mehari_out.filled);
    mehari_out.filled = 0;
    finish();
  } else if (mehari_response.length + mehari_out.filled - skip + sizeof(uint32_t) <= MEHARI_RECORD_LIMIT)
    finish_at_once(skip);
  else {
    mehari_out_send_head();
    put_body(mehari_out.buffer + skip, mehari_out.filled - skip);
    mehari_out.filled = 0;
    finish();
  }
}

void mehari_output_begin(pTHX)
{
  mehari_head_clear(&mehari_response);
  mehari_output_fill_head = mehari_request_fill_head;
  mehari_out.phase = HEAD_OPEN;
  complete = mehari_output_gathers = false;
  mehari_out.filled = mehari_out.clean = 0;
  mehari_out.pieces.count = 0;
  mehari_out.body_bytes = mehari_out.passed = 0;
  detached = mehari_now.frame->task == MEHARI_TASK_HANDLER;
  mehari_parse_headers = mehari_now.frame->flags & MEHARI_FLAG_PARSE_HEADERS;
  mehari_stdout_begin(aTHX);
}
