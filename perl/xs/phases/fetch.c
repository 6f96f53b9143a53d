/* Fetches a response of the front for Perl's filters: the response of a CGI program or a back end,
 * or a page with server-side includes. The front gives the head as the outcome and the body through
 * a socket. If the front closes the socket without writing, the front's own response is final.
 *
 * hand_back.c calls it instead of sending MEHARI_RECORD_PASS. */
#include "phases/phases.h"
#include "api/api.h"
#include "mailbox/mailbox.h"
#include "request/record.h"
#include "response/response.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define WINDOW 16384

/* Whether the front needs the request's body, because the front has no body or input filters have
 * changed it. */
static bool needs_body(mehari_rec *rec)
{
  dTHX;
  bool is_filtered = rec->slots && hv_exists(rec->slots, "filtered body", 13);
  return is_filtered || (mehari_now.body_length && (mehari_rec_is_proxied(aTHX_ rec) || mehari_rec_is_translated(rec)));
}

bool mehari_rec_fetches(mehari_rec *rec)
{
  return !rec->main && !mehari_in_child && !mehari_input_refused && (mehari_output_gathers || needs_body(rec));
}

/* Makes a file with the request's body for the front. -1: there is no such file. */
static int body_file(void)
{
  int file = memfd_create("mehari request body", MFD_CLOEXEC);
  mehari_text rest = {mehari_now.body, mehari_now.body_length};
  while (file >= 0 && rest.length) {
    ssize_t wrote = write(file, rest.at, rest.length);
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote <= 0) {
      close(file);
      return -1;
    }
    rest.at += wrote;
    rest.length -= wrote;
  }
  return file;
}

/* Sends the socket's other end and the body ahead of the record. */
static bool send_files(int end, bool with_body)
{
  int body = with_body ? body_file() : -1;
  bool is_sent = (!with_body || body >= 0) && mehari_mailbox_send_file(end) && (!with_body || mehari_mailbox_send_file(body));
  int why = errno;
  if (body >= 0)
    close(body);
  errno = why;
  return is_sent;
}

static ssize_t receive(int socket, char *into, size_t room, int flags)
{
  ssize_t got;
  while ((got = recv(socket, into, room, flags)) < 0 && errno == EINTR)
    ;
  return got;
}

/* Copies the response's body through the filters. Before each wait, the bytes that have arrived are
 * sent on. */
static void copy_body(int socket)
{
  char window[WINDOW];
  for (;;) {
    ssize_t got = receive(socket, window, sizeof window, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      mehari_output_flush();
      got = receive(socket, window, sizeof window, 0);
    }
    if (got <= 0 || mehari_output_is_complete())
      return;
    mehari_output_write(window, got);
  }
}

/* Takes the front's header fields. They replace fields of the same name that handlers have set. */
static void take_head(pTHX_ mehari_rec *rec, mehari_text head)
{
  mehari_table *out = mehari_rec_table(rec, MEHARI_TABLE_HEADERS_OUT);
  for (mehari_text rest = head; rest.length;) {
    mehari_text line = mehari_first_line(&rest);
    const char *colon = memchr(line.at, ':', line.length);
    if (colon)
      mehari_table_unset(out, (mehari_text){line.at, colon - line.at});
  }
  while (head.length)
    mehari_rec_hear_line(aTHX_ rec, mehari_first_line(&head));
  /* Filters may change the length. */
  if (mehari_output_gathers)
    mehari_table_unset(out, (mehari_text){"Content-Length", 14});
}

static void filter_answer(pTHX_ mehari_rec *rec, const mehari_response_outcome *told, int socket)
{
  mehari_parse_headers = false;
  rec->listens = false;
  rec->status = told->status;
  take_head(aTHX_ rec, told->head);
  copy_body(socket);
  mehari_output_end(aTHX);
}

void mehari_rec_fetch(pTHX_ mehari_rec *rec, SV *payload)
{
  int ends[2];
  char word = 0;
  mehari_response_outcome told;
  bool with_body = needs_body(rec);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
    mehari_logf(MEHARI_LOG_ERROR, "no socket for an answer that is to be filtered: %s", strerror(errno));
    mehari_output_error(500);
    return;
  }
  bool is_sent = send_files(ends[1], with_body);
  close(ends[1]);
  if (!is_sent) {
    mehari_logf(MEHARI_LOG_ERROR, "an answer that is to be filtered cannot be asked for: %s", strerror(errno));
    mehari_output_error(500);
  } else {
    mehari_text parts = {SvPVX(payload), SvCUR(payload)};
    mehari_ring_put(MEHARI_RECORD_FETCH, with_body ? MEHARI_FETCH_BODY : 0, &parts, 1);
    bool is_known = mehari_receive_outcome(rec->answers, &told);
    if (is_known && receive(ends[0], &word, 1, 0) == 1 && word == MEHARI_FETCH_FOLLOWS)
      filter_answer(aTHX_ rec, &told, ends[0]);
    else
      mehari_output_leave_to_front();
  }
  close(ends[0]);
}
