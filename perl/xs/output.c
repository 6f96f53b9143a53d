/* The response of the request being served, and the layer under STDOUT that fills it.
 *
 * What is printed gathers in a buffer; small responses leave as one ring record, large or flushed
 * ones stream. Descriptor 1 is a memory file: child processes and C libraries write there, and
 * their text is taken into the response in order.
 */
#include "mehari.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/mman.h>
#include <unistd.h>

#define FLUSH_AT 65536u
#define HEAD_LIMIT 65536u

mehari_head mehari_response;
bool mehari_stdout_aside, mehari_parse_headers, mehari_may_have_spawned;
void (*mehari_output_fill_head)(pTHX);

static char *buffer;
static size_t filled, capacity, body_bytes;
static enum { HEAD_OPEN, HEAD_SENT, HEAD_REFUSED } phase;
static int memory_file = -1; /* what descriptor 1 is */
static off_t drained;        /* bytes of it already taken */
static bool spilled;

static PerlIO *layer_handle;
static GV *stdout_gv;
static GP *stdout_gp;
static IO *stdout_io;
static bool descriptor_replaced;

/* ---- the response ---- */

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

/* Length of the printed header block once it is complete and sound; -1 while it is not complete. */
static ssize_t settle_head(void)
{
  if (!mehari_parse_headers) {
    if (mehari_output_fill_head) {
      dTHX;
      mehari_output_fill_head(aTHX);
    }
    if (mehari_response.refused)
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
  if (!sound || mehari_response.refused)
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

/* Sends what is buffered if the head is settled. */
static void pass_on(void)
{
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

/* What children and C code wrote to descriptor 1, when that is no part of the response. */
static void log_descriptor(void)
{
  off_t size = lseek(memory_file, 0, SEEK_END);
  if (size <= drained)
    return;
  spilled = true;
  char line[4096];
  ssize_t got;
  while (drained < size && (got = pread(memory_file, line, sizeof line, drained)) > 0) {
    char *feed = memrchr(line, '\n', got);
    size_t part = feed ? (size_t)(feed + 1 - line) : (size_t)got;
    mehari_log(MEHARI_LOG_ERROR, line, part);
    drained += part;
  }
}

/* What children and C code wrote to descriptor 1 comes before what is buffered since. */
static void drain_descriptor(void)
{
  if (mehari_stdout_aside) {
    log_descriptor();
    return;
  }
  off_t size = lseek(memory_file, 0, SEEK_END);
  if (size <= drained)
    return;
  spilled = true;
  char *later = buffer;
  size_t later_filled = filled;
  buffer = NULL;
  filled = capacity = 0;
  char *window = safemalloc(FLUSH_AT);
  while (drained < size) {
    ssize_t got = pread(memory_file, window, FLUSH_AT, drained);
    if (got <= 0)
      break;
    drained += got;
    take(window, got);
  }
  Safefree(window);
  take(later, later_filled);
  Safefree(later);
}

void mehari_output_write(const char *bytes, size_t length)
{
  if (!mehari_in_child) {
    take(bytes, length);
    return;
  }
  reserve(length);
  memcpy(buffer + filled, bytes, length);
  filled += length;
  if (filled > FLUSH_AT)
    mehari_output_spill();
}

void mehari_output_spill(void)
{
  if (mehari_stdout_aside) {
    if (mehari_in_child)
      filled = 0;
    return;
  }
  size_t at = 0;
  while (at < filled) {
    ssize_t wrote = write(1, buffer + at, filled - at);
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote <= 0)
      break;
    at += wrote;
  }
  filled = 0;
}

void mehari_output_flush(void)
{
  if (mehari_in_child) {
    mehari_output_spill();
    return;
  }
  if (!mehari_serving)
    return;
  if (mehari_may_have_spawned)
    drain_descriptor();
  pass_on();
  mehari_ring_publish();
}

bool mehari_output_sent(void) { return phase == HEAD_SENT; }
size_t mehari_output_bytes(void) { return body_bytes + filled; }
static void flush_handles(pTHX)
{
  PerlIO *now = stdout_io ? IoOFP(stdout_io) : NULL;
  PL_op = NULL;
  if (now && PerlIOValid(now))
    PerlIO_flush(now);
  if (layer_handle && layer_handle != now && PerlIOValid(layer_handle))
    PerlIO_flush(layer_handle);
  if (__fpending(stdout))
    fflush(stdout);
}

bool mehari_output_has_body(pTHX)
{
  flush_handles(aTHX);
  drain_descriptor();
  if (phase == HEAD_SENT || !filled)
    return phase == HEAD_SENT;
  size_t head = mehari_parse_headers ? mehari_head_measure(buffer, filled) : 0;
  return mehari_parse_headers ? head && filled > head : true;
}

void mehari_output_discard(void) { filled = 0; }

static void finish(void)
{
  mehari_ring_put(MEHARI_RECORD_END, 0, NULL, 0);
  atomic_store(mehari_mailbox_progress(), 2);
}

void mehari_output_error(int status)
{
  filled = 0;
  if (phase == HEAD_SENT) {
    mehari_ring_put(MEHARI_RECORD_END, MEHARI_END_BROKEN, NULL, 0);
  } else {
    uint32_t none = 0;
    mehari_text parts[] = {{(char *)&none, sizeof none}};
    mehari_ring_put(MEHARI_RECORD_RESPONSE, status, parts, 1);
  }
  atomic_store(mehari_mailbox_progress(), 2);
}

static void finish_at_once(size_t skip)
{
  uint32_t lines = mehari_response.length;
  mehari_text parts[] = {{(char *)&lines, sizeof lines}, {mehari_response.lines, lines}, {buffer + skip, filled - skip}};
  body_bytes = filled - skip;
  mehari_ring_put(MEHARI_RECORD_RESPONSE, mehari_response.status, parts, 3);
  atomic_store(mehari_mailbox_progress(), 2);
  filled = 0;
}

void mehari_output_end(pTHX)
{
  flush_handles(aTHX);
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

/* ---- the layer ---- */

static IV layer_pushed(pTHX_ PerlIO *handle, const char *mode, SV *argument, PerlIO_funcs *table)
{
  IV code = PerlIOBase_pushed(aTHX_ handle, mode, argument, table);
  PerlIOBase(handle)->flags |= PERLIO_F_OPEN | PERLIO_F_CANWRITE;
  return code;
}

static IV layer_popped(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return 0; }
static IV layer_fileno(pTHX_ PerlIO *handle) { PERL_UNUSED_ARG(handle); return 1; }

static SSize_t layer_write(pTHX_ PerlIO *handle, const void *bytes, Size_t length)
{
  PERL_UNUSED_ARG(handle);
  if (mehari_stdout_aside)
    return PerlIO_write(PerlIO_stderr(), bytes, length);
  mehari_output_write(bytes, length);
  return length;
}

/* Perl flushes for three reasons: a child is about to start, a duplicate is about to be made, or the
 * script wants its text sent. The operator that runs tells which. */
static IV layer_flush(pTHX_ PerlIO *handle)
{
  PERL_UNUSED_ARG(handle);
  if (!PL_op)
    return 0;
  switch (PL_op->op_type) {
  case OP_SYSTEM: case OP_EXEC: case OP_FORK: case OP_BACKTICK: case OP_PIPE_OP: case OP_GLOB: case OP_OPEN:
    mehari_may_have_spawned = true;
    mehari_output_spill();
    break;
  case OP_PRINT: case OP_SAY: case OP_PRTF: case OP_ENTERSUB: case OP_LEAVEWRITE: case OP_SYSWRITE:
    if (!mehari_stdout_aside)
      mehari_output_flush();
    break;
  }
  return 0;
}

static IV layer_close(pTHX_ PerlIO *handle)
{
  PerlIOBase(handle)->flags &= ~(PERLIO_F_CANWRITE | PERLIO_F_CANREAD | PERLIO_F_OPEN);
  if (handle == layer_handle) {
    if (mehari_in_child)
      mehari_output_spill();
    close(1);
    descriptor_replaced = true;
    layer_handle = NULL;
  }
  return 0;
}

static PerlIO *layer_dup(pTHX_ PerlIO *handle, PerlIO *old, CLONE_PARAMS *parameters, int flags)
{
  PERL_UNUSED_ARG(parameters);
  PERL_UNUSED_ARG(old);
  mehari_may_have_spawned = true;
  mehari_output_spill();
  int file = flags & PERLIO_DUP_FD ? dup(1) : 1;
  return PerlIO_openn(aTHX_ ":unix:perlio", "w", file, 0, 0, handle, 0, NULL);
}

static PerlIO_funcs layer = {
  sizeof(PerlIO_funcs), "mehari_out", sizeof(struct _PerlIO) + sizeof(int), PERLIO_K_RAW,
  layer_pushed, layer_popped, NULL, PerlIOBase_binmode, NULL, layer_fileno, layer_dup,
  NULL, NULL, layer_write, NULL, NULL, layer_close, layer_flush, NULL,
  PerlIOBase_eof, PerlIOBase_error, PerlIOBase_clearerr, PerlIOBase_setlinebuf,
  NULL, NULL, NULL, NULL, NULL,
};

bool mehari_is_output(PerlIO *handle)
{
  return PerlIOValid(handle) && PerlIOBase(handle)->tab == &layer;
}

/* `open STDOUT, ...` keeps the PerlIO and puts the new file on descriptor 1: give the script a real handle. */
void mehari_output_reopened(pTHX_ IO *io)
{
  if (io != stdout_io)
    return;
  descriptor_replaced = true;
  if (layer_handle && IoOFP(io) == layer_handle)
    IoIFP(io) = IoOFP(io) = PerlIO_fdopen(1, "w");
}

static void attach_layer(pTHX)
{
  PerlIO *handle = PerlIO_stdout();
  if (PerlIOValid(handle)) {
    PerlIO_flush(handle);
    while (PerlIOValid(handle))
      PerlIO_pop(aTHX_ handle);
  }
  layer_handle = PerlIO_push(aTHX_ handle, &layer, "w", NULL);
  IoIFP(stdout_io) = IoOFP(stdout_io) = layer_handle;
  IoTYPE(stdout_io) = IoTYPE_WRONLY;
}

void mehari_output_fresh_descriptor(void)
{
  int file = memfd_create("stdout", MFD_CLOEXEC);
  if (file < 0)
    return;
  fcntl(file, F_SETFL, O_APPEND);
  int high = fcntl(file, F_DUPFD_CLOEXEC, 10);
  close(file);
  if (memory_file >= 0)
    close(memory_file);
  memory_file = high;
  dup2(memory_file, 1);
  drained = 0;
}

void mehari_output_open(pTHX)
{
  PerlIO_define_layer(aTHX_ &layer);
  stdout_gv = gv_fetchpvs("STDOUT", GV_ADD, SVt_PVIO);
  stdout_io = (IO *)SvREFCNT_inc_NN((SV *)GvIOn(stdout_gv));
  stdout_gp = gp_ref(GvGP(stdout_gv));
  mehari_output_fresh_descriptor();
  attach_layer(aTHX);
}

static void restore_glob(pTHX)
{
  if (GvGP(stdout_gv) != stdout_gp) {
    gp_free(stdout_gv);
    GvGP_set(stdout_gv, gp_ref(stdout_gp));
  }
  if (GvIOp(stdout_gv) != stdout_io) {
    SvREFCNT_dec((SV *)GvIOp(stdout_gv));
    GvIOp(stdout_gv) = (IO *)SvREFCNT_inc_NN((SV *)stdout_io);
  }
}

void mehari_output_reset_handles(pTHX)
{
  restore_glob(aTHX);
  if (SvRMAGICAL((SV *)stdout_io))
    sv_unmagic((SV *)stdout_io, PERL_MAGIC_tiedscalar);
  if (IoOFP(stdout_io) != layer_handle || !layer_handle) {
    if (IoOFP(stdout_io) && IoOFP(stdout_io) != layer_handle)
      PerlIO_close(IoOFP(stdout_io));
    descriptor_replaced = true;
    if (layer_handle && PerlIOValid(layer_handle))
      IoIFP(stdout_io) = IoOFP(stdout_io) = layer_handle;
    else
      attach_layer(aTHX);
  }
  while (PerlIOBase(layer_handle)->tab != &layer) {
    PerlIO_flush(layer_handle);
    PerlIO_pop(aTHX_ layer_handle);
  }
  PerlIOBase(layer_handle)->flags &= ~(PERLIO_F_UTF8 | PERLIO_F_ERROR);
  IoFLAGS(stdout_io) &= ~IOf_FLUSH;
  IoLINES(stdout_io) = 0;
  if (PL_defoutgv != stdout_gv)
    setdefout(stdout_gv);
  PL_last_in_gv = NULL;
  if (descriptor_replaced) {
    dup2(memory_file, 1);
    descriptor_replaced = false;
  }
  /* A child may live on with the memory file open: what it writes later must reach nobody. */
  if (mehari_may_have_spawned || spilled)
    mehari_output_fresh_descriptor();
  mehari_may_have_spawned = spilled = false;
}

void mehari_output_begin(pTHX)
{
  mehari_head_clear(&mehari_response);
  mehari_output_fill_head = mehari_request_fill_head;
  mehari_stdout_aside = false;
  phase = HEAD_OPEN;
  filled = 0;
  body_bytes = 0;
  mehari_parse_headers = mehari_now.frame->flags & MEHARI_FLAG_PARSE_HEADERS;
  if (!layer_handle || PerlIOBase(layer_handle)->tab != &layer || IoOFP(stdout_io) != layer_handle)
    mehari_output_reset_handles(aTHX);
}
