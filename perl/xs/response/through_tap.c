/* Sends the response through the tap (stdio/tap.c): once a child process may print too, all output
 * goes through the tap. */
#include "response/head.h"
#include "response/outgoing.h"
#include "response/response.h"
#include "mailbox/mailbox.h"
#include "request/record.h"
#include "stdio/standard.h"

/* Sends printed output through the tap. If $r makes the head, the head is first sent through the
 * ring. */
void mehari_out_write_to_tap(void)
{
  if (!mehari_in_child && mehari_tap_is_open() && !mehari_parse_headers && mehari_out.phase == HEAD_OPEN) {
    mehari_out_settle();
    if (mehari_out.phase == HEAD_OPEN)
      mehari_out_send_head();
    mehari_ring_publish();
  }
  mehari_output_spill();
}

void mehari_output_spill(void)
{
  if (mehari_stdout_aside) {
    if (mehari_in_child)
      mehari_out.filled = 0;
    return;
  }
  if (mehari_out.phase != HEAD_REFUSED)
    mehari_tap_write(mehari_out.buffer, mehari_out.filled);
  mehari_out.body_bytes += mehari_out.filled;
  mehari_out.filled = 0;
}

/* Announces the tap with the head as the head is now. The front needs this head if a child fills
 * the pipe before the script's head is final. */
static void announce_tap(pTHX)
{
  if (mehari_out.phase == HEAD_OPEN && !mehari_parse_headers && mehari_output_fill_head)
    mehari_output_fill_head(aTHX);
  else if (mehari_out.phase == HEAD_OPEN && mehari_output_fill_head)
    mehari_request_complete_head(aTHX);
  mehari_text task = mehari_request_text(MEHARI_TEXT_TASK);
  uint32_t lines = mehari_out.phase == HEAD_OPEN && mehari_out_head_fits() && !mehari_response.refused ? mehari_response.length : 0;
  if (task.length > MEHARI_RECORD_LIMIT - sizeof lines - lines)
    task.length = 0;
  mehari_text parts[] = {{(char *)&lines, sizeof lines}, {mehari_response.lines, lines}, task};
  mehari_ring_put(MEHARI_RECORD_TAP, mehari_response.status | (mehari_parse_headers ? MEHARI_TAP_PARSE : 0), parts, 3);
  if (mehari_out.phase == HEAD_OPEN)
    mehari_head_clear(&mehari_response);
  mehari_ring_publish();
}

void mehari_output_share(pTHX)
{
  if (!mehari_in_child && mehari_serving && !mehari_tap_is_open()) {
    mehari_out_drain();
    if (mehari_out.phase == HEAD_SENT)
      mehari_out_pass_on();
    if (!mehari_tap_open())
      return;
    announce_tap(aTHX);
  }
  mehari_output_spill();
}
